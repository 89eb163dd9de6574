// SPDX-License-Identifier: Apache-2.0
// Loads that are known beforehand: who is sent when, what the client says of itself, and which
// figures come out under the names of the field.
#include "lab/load.h"

#include <numeric>
#include <set>
#include <thread>

#include "lab/recorder.h"
#include "lab/stats.h"
#include "lab/test_ask.h"

namespace pawl::lab {
namespace {

using testing::is_sanitized;
using testing::question;
using tests::After;
using tests::ScriptedEndpoint;
using tests::SeenRequest;
using tests::Step;
using tests::StreamScript;

const base::SteadyClock kClock;

LoadPlan plan_of(int64_t requests, std::optional<int64_t> at_once) {
  LoadPlan plan;
  plan.requests = requests;
  plan.max_in_flight = at_once;
  plan.question = [](int64_t index) -> base::Result<Question> {
    Question asked = question(fmt::format("question {}", index));
    asked.keeps_text = false;
    return asked;
  };
  return plan;
}

LoadResult run(ScriptedEndpoint& server, const LoadPlan& plan) {
  auto client = testing::client_at(server.url());
  auto result = run_load(*client, plan, kClock, {});
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? std::move(*result) : LoadResult{};
}

std::vector<double> sorted_ttft(const LoadResult& result, Origin from = Origin::kSent) {
  std::vector<double> values;
  for (const auto& record : result.records) {
    if (const auto value = ttft_ms(record, from)) values.push_back(*value);
  }
  std::sort(values.begin(), values.end());
  return values;
}

double number(const base::Json& json, std::string_view key) {
  const base::Json* member = json.find(key);
  EXPECT_NE(member, nullptr) << key;
  return member != nullptr ? member->to_double().value_or(NAN) : NAN;
}

TEST(Arrivals, PoissonGapsAreExponentialAndRepeatable) {
  PoissonArrivals arrivals(10, 7), again(10, 7), other(10, 8);
  std::vector<double> gaps;
  int64_t last = 0;
  bool is_other = false;
  for (int i = 0; i < 20'000; ++i) {
    const int64_t at = *arrivals.next_ns();
    EXPECT_EQ(*again.next_ns(), at);
    is_other = is_other || *other.next_ns() != at;
    ASSERT_GE(at, last);
    gaps.push_back(static_cast<double>(at - last) / 1e9);
    last = at;
  }
  EXPECT_TRUE(is_other);
  // Mean and deviation of an exponential distribution are both 1/rate; its median is ln 2 of that.
  std::sort(gaps.begin(), gaps.end());
  EXPECT_NEAR(mean_of(gaps), 0.1, 0.003);
  EXPECT_NEAR(deviation_of(gaps), 0.1, 0.004);
  EXPECT_NEAR(percentile(gaps, 50), 0.0693, 0.003);
}

TEST(Arrivals, ATraceIsSentInItsOrderAndEnds) {
  TraceArrivals arrivals({30, 10, 20});
  EXPECT_EQ(arrivals.next_ns(), 10);
  EXPECT_EQ(arrivals.next_ns(), 20);
  EXPECT_EQ(arrivals.next_ns(), 30);
  EXPECT_FALSE(arrivals.next_ns().has_value());
  EvenArrivals even(50);
  EXPECT_EQ(even.next_ns(), 0);
  EXPECT_EQ(even.next_ns(), 20'000'000);
}

TEST(Load, S146_OneStuckRequestHoldsNobodyElse) {
  ScriptedEndpoint server([](const SeenRequest& request) {
    const double first = request.index == 5 ? 2000 : 20;
    return StreamScript().texts(first, 1, 2).finish(first + 2, 3, 2);
  });
  const LoadResult result = run(server, plan_of(40, 4));
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 40U);
  EXPECT_EQ(result.records.size(), 40U);
  EXPECT_EQ(result.most_in_flight, 4);
  EXPECT_EQ(server.most_open_requests(), 4);
  // All others were received while the stuck one was silent.
  const int64_t stuck = requests[5].received_ns;
  for (const SeenRequest& one : requests) EXPECT_LT(one.received_ns, stuck + 1'900'000'000);
  EXPECT_EQ(result.records.back().index, 5);
}

TEST(Load, S149_MoreAtOnceThanFilesAreAllowedIsAnErrorBeforeTheRun) {
  ScriptedEndpoint server([](const SeenRequest&) { return std::vector<Step>(); });
  auto client = testing::client_at(server.url());
  const auto result = run_load(*client, plan_of(3, int64_t{1} << 40), kClock, {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, base::ErrorCode::kInvalidArgument);
  EXPECT_TRUE(server.requests().empty());
}

TEST(Load, S164_WaitingInTheClientsOwnQueueIsInTheScheduledTimes) {
  // Ten in a second and a worker that takes 190 ms: each waits longer than the one before.
  int64_t busy_until = 0;
  ScriptedEndpoint server([&](const SeenRequest& request) {
    busy_until = std::max(busy_until, request.received_ns) + 190'000'000;
    const double ms = static_cast<double>(busy_until - request.received_ns) / 1e6;
    return StreamScript().texts(ms, 1, 1).finish(ms, 3, 1);
  });
  LoadPlan plan = plan_of(30, 4);
  EvenArrivals arrivals(10);
  plan.arrivals = &arrivals;
  const LoadResult result = run(server, plan);
  const auto sent = sorted_ttft(result), scheduled = sorted_ttft(result, Origin::kScheduled);
  ASSERT_EQ(scheduled.size(), 30U);
  fmt::print("    most ttft: {:.0f} ms from sending, {:.0f} ms from the schedule\n", sent.back(),
             scheduled.back());
  EXPECT_GT(scheduled.back(), 30 * 190 - 29 * 100 - 300);
  EXPECT_LT(sent.back(), 4 * 190 + 300);
  EXPECT_GT(result.client.held_by_cap, 15);
  const base::Json json = load_json(result, {}, std::nullopt);
  EXPECT_GT(number(*json.find("scheduled"), "p99_ttft_ms"), number(json, "p99_ttft_ms") + 1000);
}

TEST(Load, S165_ASlipOfTheScheduleIsMeasuredAndVoidsTheRun) {
  ClientWatch watch;
  watch.wake_late_ms.assign(200, 0.1);
  watch.send_late_ms.assign(200, 0.3);
  EXPECT_FALSE(client_fault(watch).has_value());
  for (int i = 0; i < 10; ++i) watch.send_late_ms.push_back(40);
  EXPECT_NE(client_fault(watch)->find("sent late"), std::string::npos);

  // A schedule that nobody can keep: all at the same instant, each of them large to send.
  ScriptedEndpoint server(
      [](const SeenRequest&) { return StreamScript().texts(0, 1, 1).finish(1, 3, 1); });
  LoadPlan plan = plan_of(400, std::nullopt);
  TraceArrivals arrivals(std::vector<int64_t>(400, 0));
  plan.arrivals = &arrivals;
  plan.question = [](int64_t index) -> base::Result<Question> {
    return question(fmt::format("{} {}", index, std::string(300'000, 'x')));
  };
  const LoadResult result = run(server, plan);
  EXPECT_TRUE(client_fault(result.client).has_value());
  const base::Json json = load_json(result, {}, std::nullopt);
  EXPECT_EQ(json.find("client")->find("is_void")->to_bool(), true);
  EXPECT_GT(number(*json.find("client"), "p99_send_late_ms"), kLateLimitMs);
}

TEST(Load, S165_AScheduleThatCanBeKeptIsKept) {
  if (is_sanitized()) {
    GTEST_SKIP() << "times under sanitizers say nothing";
  }
  double p99 = 0;
  bool was_busy = false;
  for (int turn = 0; turn < 5; ++turn) {
    ScriptedEndpoint server(
        [](const SeenRequest&) { return StreamScript().texts(30, 5, 4).finish(50, 3, 4); });
    LoadPlan plan = plan_of(100, std::nullopt);
    PoissonArrivals arrivals(50, 3);
    plan.arrivals = &arrivals;
    const LoadResult result = run(server, plan);
    std::vector<double> late = result.client.send_late_ms;
    std::sort(late.begin(), late.end());
    p99 = percentile(late, 99);
    // The endpoint's own lateness says whether this machine is fit to tell.
    was_busy = false;
    for (const SeenRequest& one : server.requests()) {
      was_busy = was_busy || one.sent_ns.at(1) - one.received_ns > 33'000'000;
    }
    fmt::print("    own lag at 50 requests per second: p99 {:.3f} ms, cpu {:.1f} %\n", p99,
               result.client.cpu_share * 100);
    if (p99 < 1) break;
  }
  if (p99 >= 1 && was_busy) {
    GTEST_SKIP() << "this machine is too busy: the endpoint is late itself";
  }
  EXPECT_LT(p99, 1);
}

TEST(Load, S148_AClientThatIsLateForItselfSaysSo) {
  // A record that takes long to handle makes this thread late for its own ticks.
  ScriptedEndpoint server(
      [](const SeenRequest&) { return StreamScript().texts(1, 1, 1).finish(2, 3, 1); });
  auto client = testing::client_at(server.url());
  LoadEvents events;
  events.record = [](const RequestRecord&) -> base::Result<void> {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    return {};
  };
  const auto result = run_load(*client, plan_of(12, 2), kClock, events);
  ASSERT_TRUE(result.ok());
  EXPECT_NE(client_fault(result->client)->find("late"), std::string::npos);
}

TEST(Load, S046_EveryRequestIsInOneStateAndOwnCancelsAreTheirOwn) {
  ScriptedEndpoint server([](const SeenRequest& request) -> std::vector<Step> {
    if (request.index % 10 == 7) {
      return {{0, tests::whole_answer(500, R"({"error":{"message":"no"}})"), After::kNothing}};
    }
    if (request.index % 10 == 8) return StreamScript().texts(0, 1, 2).cut(3, After::kReset);
    return StreamScript().texts(5, 2, 10).finish(26, 3, 10);
  });
  LoadPlan plan = plan_of(100, 5);
  const auto ask = plan.question;
  plan.question = [&](int64_t index) -> base::Result<Question> {
    auto asked = ask(index);
    if (index % 10 < 3) asked->asked.cancel_after = 3;
    return asked;
  };
  const LoadResult result = run(server, plan);
  const StateCounts counts = count_states(result.records);
  EXPECT_EQ(counts.sent, 100);
  EXPECT_EQ(counts.sent, counts.success + counts.failed + counts.truncated + counts.cancelled +
                             counts.in_flight);
  EXPECT_EQ(counts.failed, 10);
  EXPECT_EQ(counts.truncated, 10);
  EXPECT_GE(counts.cancelled, 24);  // those whose answer was not broken by the script
  const base::Json json = load_json(result, {}, std::nullopt);
  EXPECT_EQ(json.find("states")->find("cancelled_by_us")->to_int64(), counts.cancelled);
  EXPECT_EQ(number(json, "completed"), static_cast<double>(counts.success));
  EXPECT_EQ(json.find("errors")->as_array()->size(), 2U);
}

TEST(Load, S047_CancelledRequestsKeepTheirFirstTokenAndNothingElse) {
  const auto measure = [](bool cancels) {
    ScriptedEndpoint server(
        [](const SeenRequest&) { return StreamScript().texts(50, 50, 8).finish(401, 3, 8); });
    LoadPlan plan = plan_of(20, 10);
    const auto ask = plan.question;
    plan.question = [ask, cancels](int64_t index) -> base::Result<Question> {
      auto asked = ask(index);
      if (cancels && index % 3 == 0) asked->asked.cancel_after = 3;
      return asked;
    };
    return load_json(run(server, plan), {}, std::nullopt);
  };
  const base::Json with = measure(true), without = measure(false);
  EXPECT_EQ(number(*with.find("states"), "cancelled_by_us"), 7);
  EXPECT_EQ(number(*with.find("samples")->find("ttft"), "n"), 20);
  EXPECT_EQ(number(*with.find("samples")->find("e2el"), "n"), 13);
  EXPECT_EQ(number(with, "total_output_tokens"), 13 * 8);
  const double slack = is_sanitized() ? 500 : 60;
  EXPECT_NEAR(number(with, "median_ttft_ms"), number(without, "median_ttft_ms"), slack);
  EXPECT_NEAR(number(with, "median_e2el_ms"), 400, slack);
}

TEST(Load, S123_EmptyAnswersAreCountedAndInNoPercentile) {
  ScriptedEndpoint server([](const SeenRequest& request) {
    if (request.index % 10 == 0) {
      return StreamScript()
          .send(0, tests::role_event() + tests::finish_event() + tests::kDone)
          .end(0);
    }
    return StreamScript().texts(40, 2, 2).finish(43, 3, 2);
  });
  const LoadResult result = run(server, plan_of(50, 5));
  const base::Json json = load_json(result, {}, std::nullopt);
  EXPECT_EQ(number(*json.find("states"), "empty"), 5);
  EXPECT_EQ(number(*json.find("samples")->find("ttft"), "n"), 45);
  EXPECT_GE(sorted_ttft(result).front(), 39);
}

TEST(Load, S157_TheReportSaysHowManyPromptsWereDistinct) {
  ScriptedEndpoint server(
      [](const SeenRequest&) { return StreamScript().texts(0, 1, 1).finish(1, 3, 1); });
  LoadPlan plan = plan_of(60, 8);
  plan.question = [](int64_t index) -> base::Result<Question> {
    return question(fmt::format("one of twelve: {}", index % 12));
  };
  const base::Json json = load_json(run(server, plan), {}, std::nullopt);
  EXPECT_EQ(number(json, "distinct_prompts"), 12);
  EXPECT_EQ(number(json, "num_prompts"), 60);
  EXPECT_TRUE(json.find("cached_share")->is_null());
}

TEST(Load, S158_TheShareOfCachedPromptTokensIsTold) {
  ScriptedEndpoint server([](const SeenRequest&) {
    StreamScript script;
    return script.texts(0, 1, 1)
        .send(1, tests::finish_event() + tests::usage_event(100, 1, 64) + tests::kDone)
        .end(1);
  });
  const base::Json json = load_json(run(server, plan_of(5, 1)), {}, std::nullopt);
  EXPECT_DOUBLE_EQ(number(json, "cached_share"), 0.64);
}

TEST(Load, GoodputCountsAnswersThatKeepEveryLimit) {
  const auto limits = parse_goodput("ttft:100,itl:30");
  ASSERT_TRUE(limits.ok());
  for (const char* bad : {"ttft", "ttft:", "ttft:-1", "ttft:x", "speed:3", "ttft:1;itl:2", ","}) {
    EXPECT_FALSE(parse_goodput(bad).ok()) << bad;
  }
  ScriptedEndpoint server([](const SeenRequest& request) {
    const double first = request.index % 2 == 0 ? 5 : 300;
    return StreamScript().texts(first, 2, 3).finish(first + 5, 3, 3);
  });
  const LoadResult result = run(server, plan_of(10, 10));
  const base::Json json = load_json(result, {}, *limits);
  if (!is_sanitized()) {
    EXPECT_LE(number(json, "good_requests"), 5);
    EXPECT_GE(number(json, "good_requests"), 3);
  }
  EXPECT_GT(number(json, "request_goodput"), 0);
}

TEST(Load, TheFieldsNamesAreThereAndNullWithoutValues) {
  const base::Json json = load_json({}, {}, std::nullopt);
  for (const char* name : {"mean", "median", "std", "p99"}) {
    for (const char* metric : {"ttft", "tpot", "itl", "e2el"}) {
      const base::Json* member = json.find(fmt::format("{}_{}_ms", name, metric));
      ASSERT_NE(member, nullptr) << name << metric;
      EXPECT_TRUE(member->is_null()) << name << metric;
    }
  }
  for (const char* name : {"request_throughput", "output_throughput", "total_token_throughput",
                           "completed", "duration", "total_input_tokens", "max_concurrency"}) {
    EXPECT_NE(json.find(name), nullptr) << name;
  }
}

TEST(Records, ComeBackFromDiskAsTheyWere) {
  ScriptedEndpoint server([](const SeenRequest&) {
    return StreamScript().send(0, ": ping\n\n").texts(1, 1, 3, "grün ").finish(5, 3, 3);
  });
  const std::string path = ::testing::TempDir() + "/records.jsonl";
  std::remove(path.c_str());
  base::Json header;
  header["experiment"] = "test";
  std::vector<std::string> lines;
  {
    auto recorder = Recorder::open(path, header);
    ASSERT_TRUE(recorder.ok()) << recorder.error().message;
    for (const auto& record : run(server, plan_of(5, 2)).records) {
      lines.push_back(record_line(record));
      ASSERT_TRUE(recorder->add(record).ok());
    }
  }
  // A run that broke off in the middle of a line is gone on with.
  std::FILE* file = std::fopen(path.c_str(), "ab");
  std::fputs("{\"index\": 5, \"id", file);
  std::fclose(file);
  {
    auto again = Recorder::open(path, header);
    ASSERT_TRUE(again.ok()) << again.error().message;
    ASSERT_EQ(again->found().records.size(), 5U);
    EXPECT_TRUE(again->found().is_cut);
    for (size_t i = 0; i < lines.size(); ++i) {
      EXPECT_EQ(record_line(again->found().records[i]), lines[i]);
    }
    ASSERT_TRUE(again->add(again->found().records[0]).ok());
  }
  EXPECT_EQ(read_records_file(path)->records.size(), 6U);
  header["experiment"] = "another";
  EXPECT_EQ(Recorder::open(path, header).error().code, base::ErrorCode::kInvalidArgument);
}

TEST(Records, ForeignBytesEndInAnErrorThatNamesTheLine) {
  const std::string header = records_header_line(base::Json::object());
  const std::string good = record_line(RequestRecord());
  EXPECT_TRUE(parse_records(header + good).ok());
  EXPECT_EQ(parse_records(header + good + "{}\n").error().where, "line 3");
  for (const std::string& bad : {std::string(), std::string("x\n"), std::string("{}\n"),
                                 std::string("[1]\n"), header + "[]\n", header + "\n"}) {
    EXPECT_FALSE(parse_records(bad).ok()) << bad;
  }
  // Every member is asked for its kind.
  const base::Json record = record_json(RequestRecord());
  for (const auto& [key, value] : *record.as_object()) {
    base::Json broken = record;
    broken[key] = value.as_array() != nullptr ? base::Json(7) : base::Json::array();
    const auto parsed = parse_record(broken);
    ASSERT_FALSE(parsed.ok()) << key;
    EXPECT_NE(parsed.error().message.find(key), std::string::npos) << parsed.error().message;
  }
}

TEST(Conditions, UnknownIsNeverEqualAndEveryDifferenceIsNamed) {
  Conditions a;
  a.api = "chat";
  a.answered_model = "m";
  a.server = "pawl";
  a.server_version = "1";
  a.server_machine = "x";
  a.cache = "unique prompt heads";
  a.sampling = "temperature 0";
  a.server_threads = 2;
  a.concurrency = 1;
  EXPECT_TRUE(differences(a, a).empty());
  Conditions b = a;
  b.concurrency = 4;
  b.server_machine.clear();
  b.date = "2026-01-01T00:00:00Z";
  const auto found = differences(a, b);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "server_machine");
  EXPECT_EQ(found[0].b, "not known");
  EXPECT_EQ(found[1].name, "load");
  EXPECT_EQ(found[1].b, "4 at once");
  const auto back = parse_conditions(conditions_json(a));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(conditions_json(*back).dump(), conditions_json(a).dump());
  b.server_threads.reset();
  EXPECT_EQ(differences(b, b).size(), 2U);
}

}  // namespace
}  // namespace pawl::lab
