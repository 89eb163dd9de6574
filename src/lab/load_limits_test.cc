// SPDX-License-Identifier: Apache-2.0
// What a load is held against: limits of percentiles from the schedule, the window of sending,
// answers that were thinking alone, and counts of servers that tell none.
#include "lab/load.h"
#include "lab/test_ask.h"
#include "lab/token_estimate.h"

namespace pawl::lab {
namespace {

using testing::question;
using tests::After;
using tests::ScriptedEndpoint;
using tests::SeenRequest;
using tests::Step;
using tests::StreamScript;

constexpr int64_t kMs = 1'000'000;

// A success that was meant at `scheduled_ms`, sent `late_ms` after that, with `tokens` of one event
// each.
RequestRecord answer(double scheduled_ms, double late_ms, double ttft, double per_token,
                     int tokens) {
  RequestRecord record;
  record.state = RequestState::kSuccess;
  record.finish_reason = "stop";
  record.scheduled_ns = static_cast<int64_t>(scheduled_ms * kMs);
  record.sent_ns = static_cast<int64_t>((scheduled_ms + late_ms) * kMs);
  record.started_ns = *record.sent_ns;
  record.output.usage = tokens;
  for (int i = 0; i < tokens; ++i) {
    RawEvent event;
    event.stamp_ns = *record.sent_ns + static_cast<int64_t>((ttft + i * per_token) * kMs);
    event.read = i;
    event.bytes = 100;
    event.kind = EventKind::kContent;
    event.text_bytes = event.answer_bytes = 5;
    record.events.push_back(event);
  }
  record.closed_ns = record.events.back().stamp_ns;
  return record;
}

std::vector<std::optional<bool>> held(const LoadResult& result, const char* limits) {
  const auto parsed = parse_limits(limits);
  EXPECT_TRUE(parsed.ok());
  std::vector<std::optional<bool>> all;
  for (const LimitVerdict& verdict : judge_limits(result, *parsed)) all.push_back(verdict.holds);
  return all;
}

TEST(Limits, S169_EachGetsAVerdictOfItsOwn) {
  using Verdicts = std::vector<std::optional<bool>>;
  for (const double ttft : {200.0, 400.0}) {
    for (const double per_token : {30.0, 50.0}) {
      LoadResult result;
      for (int i = 0; i < 20; ++i) result.records.push_back(answer(i, 0, ttft, per_token, 10));
      EXPECT_EQ(held(result, "ttft:p90:300,tpot:p90:40"), (Verdicts{ttft <= 300, per_token <= 40}))
          << ttft << ' ' << per_token;
    }
  }
}

TEST(Limits, S169_TimesRunFromTheSchedule) {
  // 200 ms behind the sending, which came 200 ms late: nobody waited less than 400 ms.
  LoadResult result;
  for (int i = 0; i < 20; ++i) result.records.push_back(answer(i, 200, 200, 5, 4));
  EXPECT_EQ(held(result, "ttft:p90:300"), std::vector<std::optional<bool>>{false});
  EXPECT_NEAR(*judge_limits(result, *parse_limits("ttft:p90:300"))[0].value_ms, 400, 1e-6);
  EXPECT_EQ(held(result, "tpot:p90:300"), std::vector<std::optional<bool>>{true});
}

TEST(Limits, ARequestThatFailedKeepsNoLimit) {
  LoadResult result;
  for (int i = 0; i < 10; ++i) result.records.push_back(answer(i, 0, 10, 5, 4));
  EXPECT_EQ(held(result, "ttft:p90:300"), std::vector<std::optional<bool>>{true});
  for (int i = 0; i < 3; ++i) result.records.push_back({});  // failed
  const auto verdict = judge_limits(result, *parse_limits("ttft:p90:300"))[0];
  EXPECT_EQ(verdict.holds, false);
  EXPECT_FALSE(verdict.value_ms.has_value());
  EXPECT_EQ(held(result, "ttft:p50:300"), std::vector<std::optional<bool>>{true});
  // What no answer can have is not judged: one token has no time per token.
  LoadResult single;
  single.records.push_back(answer(0, 0, 10, 0, 1));
  EXPECT_EQ(held(single, "tpot:p90:40"), std::vector<std::optional<bool>>{std::nullopt});
}

TEST(Limits, WhatIsNoneIsRefusedByName) {
  for (const char* bad : {"", "ttft", "ttft:300", "ttft:p0:300", "ttft:p101:3", "ttft:90:300",
                          "ttft:p90:", "speed:p90:3", "ttft:p90:300,", "ttft:p90:-3"}) {
    const auto parsed = parse_limits(bad);
    EXPECT_FALSE(parsed.ok()) << bad;
  }
  EXPECT_NE(parse_limits("ttft:p90:300,x").error().message.find("'x'"), std::string::npos);
}

TEST(Window, S170_TheLastTailStretchesTheDurationAndNotTheRateOfSending) {
  LoadResult result;
  for (int i = 0; i < 100; ++i) {
    result.records.push_back(answer(100 * i, 0, i == 40 ? 60'000 : 50, 1, 2));
  }
  result.ended_ns = 64'001 * kMs;
  const LoadWindow window = window_of(result);
  EXPECT_NEAR(window.send_s, 9.9, 1e-9);
  EXPECT_NEAR(window.drain_s, 64.001 - 9.9, 1e-6);
  EXPECT_NEAR(*window.send_rate, 10, 1e-9);
  const base::Json json = load_json(result, {}, std::nullopt);
  EXPECT_NEAR(json.find("send_rate")->to_double().value_or(0), 10, 1e-9);
  EXPECT_NEAR(json.find("request_throughput")->to_double().value_or(0), 100 / 64.001, 1e-3);
}

TEST(Thinking, S176_AnAnswerThatWasThinkingAloneIsCountedApart) {
  ScriptedEndpoint server([](const SeenRequest& request) {
    StreamScript script;
    const int thinking = request.index % 4 == 0 ? 8 : 3;
    for (int i = 0; i < thinking; ++i) {
      script.send(i, tests::delta_event(R"("reasoning_content":"hm ")"));
    }
    if (thinking == 3) script.texts(3, 1, 5);
    return script.finish(9, 3, 8, thinking == 8 ? "length" : "stop");
  });
  LoadPlan plan;
  plan.requests = 8;
  plan.max_in_flight = 2;
  plan.question = [](int64_t) -> base::Result<Question> { return question(); };
  const base::SteadyClock clock;
  auto client = testing::client_at(server.url());
  const auto result = run_load(*client, plan, clock, {});
  ASSERT_TRUE(result.ok());
  const StateCounts counts = count_states(result->records);
  EXPECT_EQ(counts.success, 8);
  EXPECT_EQ(counts.no_answer_budget, 2);
  EXPECT_EQ(counts.empty, 0);
  const base::Json json = load_json(*result, {}, std::nullopt);
  EXPECT_EQ(json.find("states")->find("no_answer_budget")->to_int64(), 2);
  EXPECT_EQ(json.find("total_reasoning_tokens")->to_int64(), 2 * 8 + 6 * 3);
  EXPECT_EQ(json.find("total_output_tokens")->to_int64(), 64);
}

// Sends a usage where it is asked for one, as the field's servers do.
std::vector<Step> counts_when_asked(const SeenRequest& request) {
  const auto body = base::parse_json(request.body);
  StreamScript script;
  script.texts(1, 1, 4);
  const base::Json* options = body.ok() ? body->find("stream_options") : nullptr;
  const base::Json* asks = options != nullptr ? options->find("include_usage") : nullptr;
  if (asks != nullptr && asks->to_bool() == true) return script.finish(5, 3, 4);
  return script.send(5, tests::finish_event() + tests::kDone).end(5);
}

TEST(Usage, S167_IsAskedFor) {
  ScriptedEndpoint server(counts_when_asked);
  const RequestRecord record = testing::client_at(server.url())->ask_alone(question());
  EXPECT_EQ(record.output.usage, 4);
  EXPECT_TRUE(record.notes.empty());
}

TEST(Usage, S167_WhereAskingIsRefusedTheQuestionIsSentOnceMoreAndCountsAreEstimated) {
  ScriptedEndpoint server([](const SeenRequest& request) -> std::vector<Step> {
    if (request.head.starts_with("POST /tokenize")) {
      return {{0, tests::whole_answer(200, R"({"tokens":[5,6,7,8]})"), After::kNothing}};
    }
    if (request.body.find("stream_options") != std::string::npos) {
      const char* const error = R"({"error":{"message":"Unknown parameter: 'stream_options'"}})";
      return {{0, tests::whole_answer(400, error), After::kNothing}};
    }
    return counts_when_asked(request);
  });
  const base::SteadyClock clock;
  auto client = testing::client_at(server.url());
  std::vector<RequestRecord> records = {client->ask_alone(question("one")),
                                        client->ask_alone(question("two"))};
  EXPECT_EQ(server.requests().size(), 3U);  // the second is not refused any more
  for (const RequestRecord& record : records) {
    EXPECT_EQ(record.state, RequestState::kSuccess);
    ASSERT_EQ(record.notes.size(), 1U);
    EXPECT_NE(record.notes[0].find("stream_options"), std::string::npos);
    EXPECT_FALSE(best_count(record.output).has_value());
  }
  ServerFacts facts;
  facts.tokenize = TokenizeWay::kText;
  const auto estimated = estimate_counts(client->endpoint(), facts, clock, records);
  ASSERT_TRUE(estimated.ok());
  EXPECT_EQ(*estimated, 2);
  EXPECT_EQ(best_count(records[0].output)->count, 4);
  EXPECT_TRUE(best_count(records[0].output)->is_estimated);
}

TEST(Usage, AnotherRefusalIsARefusal) {
  ScriptedEndpoint server([](const SeenRequest&) -> std::vector<Step> {
    return {
        {0, tests::whole_answer(400, R"({"error":{"message":"no such model"}})"), After::kNothing}};
  });
  const RequestRecord record = testing::client_at(server.url())->ask_alone(question());
  EXPECT_EQ(record.state, RequestState::kFailed);
  EXPECT_EQ(server.requests().size(), 1U);
}

}  // namespace
}  // namespace pawl::lab
