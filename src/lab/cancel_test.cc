// SPDX-License-Identifier: Apache-2.0
// Savings are believed only where something shows them: a server that goes on, one that stops, and
// one of which nobody can tell, each with and without records and metrics.
#include <map>

#include "lab/cancel_check.h"
#include "lab/test_ask.h"

namespace pawl::lab {
namespace {

using tests::After;
using tests::ScriptedEndpoint;
using tests::SeenRequest;
using tests::Step;
using tests::StreamScript;

struct Behaviour {
  bool has_one_worker = true;  // a request waits for the one before it
  bool obeys = true;           // stops when its client leaves
  bool has_records = false, has_metrics = false;
  bool gives_suffix = false;  // answers the request for the end with the true end
  int after_leaving = 0;      // tokens still decoded when it obeys
};

// Decodes a token every kTokenMs, one answer at a time or all at once.
class FakeServer {
 public:
  static constexpr double kTokenMs = 4;
  static constexpr int kPrompt = 9;

  explicit FakeServer(Behaviour behaviour)
      : behaviour_(behaviour),
        endpoint_([this](const SeenRequest& request) { return answer(request); },
                  {.idle_close_ms = 0, .left = [this](const SeenRequest& one) { leave(one); }}) {}

  const std::string& url() const { return endpoint_.url(); }
  int answers() const { return answers_; }

 private:
  struct Work {
    int64_t request = 0;  // index of the endpoint
    int64_t start_ns = 0, end_ns = 0;
    int tokens = 0;
    int64_t left_ns = 0;
  };

  int decoded(const Work& work, int64_t now_ns) const {
    int64_t until = std::min(now_ns, work.end_ns);
    int extra = 0;
    if (work.left_ns != 0 && behaviour_.obeys && work.left_ns < work.end_ns) {
      until = work.left_ns;
      extra = behaviour_.after_leaving;
    }
    const double ms = static_cast<double>(until - work.start_ns) / 1e6;
    return std::clamp(1 + static_cast<int>(ms / kTokenMs) + extra, 0, work.tokens);
  }
  bool is_over(const Work& work, int64_t now_ns) const {
    return now_ns >= work.end_ns || (work.left_ns != 0 && behaviour_.obeys);
  }

  std::vector<Step> answer(const SeenRequest& request) {
    const std::string line = request.head.substr(0, request.head.find("\r\n"));
    const auto starts = [&](std::string_view path) { return line.find(path) != std::string::npos; };
    if (starts("/v1/models")) return whole(R"({"data":[{"id":"fake"}]})");
    if (starts("/props") && behaviour_.has_records) {
      return whole(R"({"version":"1","vocabulary":100})");
    }
    if (starts("/v1/requests/") && behaviour_.has_records) return record(line);
    if (starts("/metrics") && behaviour_.has_metrics) return metrics();
    if (starts("/v1/chat/completions")) return generate(request);
    return {{0, tests::whole_answer(404, "{}"), After::kNothing}};
  }

  static std::vector<Step> whole(std::string_view body) {
    return {{0, tests::whole_answer(200, body), After::kNothing}};
  }

  std::vector<Step> record(const std::string& line) {
    const int id = std::atoi(line.c_str() + line.find("/r-") + 3);
    const Work& work = works_.at(id);
    const int64_t now = clock_.now_ns();
    const int count = decoded(work, now);
    return whole(
        fmt::format(R"({{"id":"r-{}","state":"{}","cause":"client_closed","completion_tokens":{},)"
                    R"("delivered_tokens":{},"forward_passes":{}}})",
                    id, is_over(work, now) ? "cancelled" : "running", count, count, count));
  }

  std::vector<Step> metrics() {
    const int64_t now = clock_.now_ns();
    int64_t generated = 0, running = 0;
    for (const auto& [id, work] : works_) {
      generated += decoded(work, now);
      running += is_over(work, now) ? 0 : 1;
    }
    const std::string text = fmt::format(
        "# HELP vllm:generation_tokens_total x\nvllm:generation_tokens_total{{m=\"a}}b\"}} {}\n"
        "vllm:generation_tokens_total_created{{}} 7\nvllm:num_requests_running {}\n",
        generated, running);
    return {{0, tests::whole_answer(200, text), After::kNothing}};
  }

  std::vector<Step> generate(const SeenRequest& request) {
    const int id = answers_++;
    Work work;
    work.request = request.index;
    work.tokens = std::atoi(request.body.c_str() + request.body.find("max_tokens\": ") + 13);
    const double prefill = 3;
    const int64_t free_ns = behaviour_.has_one_worker
                                ? std::max(busy_until_ns_, request.received_ns)
                                : request.received_ns;
    work.start_ns = free_ns + static_cast<int64_t>(prefill * 1e6);
    work.end_ns = work.start_ns + static_cast<int64_t>(work.tokens * kTokenMs * 1e6);
    busy_until_ns_ = work.end_ns;
    works_[id] = work;
    const bool is_end_only = request.body.find("Answer with the end only") != std::string::npos;
    const double first = static_cast<double>(work.start_ns - request.received_ns) / 1e6;
    StreamScript script;
    for (int i = 0; i < work.tokens; ++i) {
      const int number = is_end_only ? (behaviour_.gives_suffix ? 20 + i : 500 + i) : i;
      std::string event = tests::text_event(fmt::format("t{} ", number));
      event.replace(event.find("\"r1\""), 4, fmt::format("\"r-{}\"", id));
      script.send(first + kTokenMs * i, event);
    }
    return script.finish(first + kTokenMs * work.tokens, kPrompt, work.tokens, "length");
  }

  void leave(const SeenRequest& request) {
    for (auto& [id, work] : works_) {
      if (work.request != request.index) continue;
      work.left_ns = request.left_ns;
      if (behaviour_.obeys && busy_until_ns_ == work.end_ns) busy_until_ns_ = request.left_ns;
    }
  }

  Behaviour behaviour_;
  base::SteadyClock clock_;
  std::map<int, Work> works_;  // the endpoint's thread alone uses these
  int64_t busy_until_ns_ = 0;
  int answers_ = 0;
  ScriptedEndpoint endpoint_;
};

CancelResult check(const Behaviour& behaviour) {
  FakeServer server(behaviour);
  CancelOptions options;
  options.prompt = "Count";
  options.after = 20;
  options.of = 150;
  options.patience_s = 2;
  options.step_tokens = testing::is_sanitized() ? 40 : 8;  // a busy machine leaves late
  static const base::SteadyClock clock;
  auto result = check_cancel(testing::endpoint_at(server.url()), options, clock, {}, {});
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? std::move(*result) : CancelResult{};
}

CancelVerdict verdict(const CancelResult& result, std::string_view name) {
  for (const CancelVerdict& one : result.verdicts) {
    if (one.name == name) return one;
  }
  ADD_FAILURE() << "no verdict " << name;
  return {};
}

TEST(Cancel, S045_AServerThatStopsIsToldFromOneThatGoesOnByAProbe) {
  const CancelResult stops = check({.has_one_worker = true, .obeys = true});
  EXPECT_EQ(stops.source, DecodedSource::kProbe);
  EXPECT_EQ(verdict(stops, "stopped").outcome, Outcome::kHolds) << verdict(stops, "stopped").reason;
  EXPECT_GT(stops.saved_tokens.value_or(0), 80);
  EXPECT_EQ(stops.unverified_tokens, 0);

  const CancelResult goes_on = check({.has_one_worker = true, .obeys = false});
  EXPECT_EQ(goes_on.source, DecodedSource::kProbe);
  EXPECT_EQ(verdict(goes_on, "stopped").outcome, Outcome::kFails)
      << verdict(goes_on, "stopped").reason;
  EXPECT_NE(verdict(goes_on, "stopped").reason.find("went on"), std::string::npos);
  EXPECT_LT(goes_on.saved_tokens.value_or(999), 60);
  EXPECT_TRUE(goes_on.has_failed());
}

TEST(Cancel, S045_WhereNothingTellsTheRestIsUnverifiedAndNotSaved) {
  for (const bool obeys : {true, false}) {
    const CancelResult result = check({.has_one_worker = false, .obeys = obeys});
    EXPECT_EQ(result.source, DecodedSource::kNone);
    EXPECT_FALSE(result.decoded.has_value());
    EXPECT_FALSE(result.saved_tokens.has_value());
    EXPECT_FALSE(result.saved_s.has_value());
    EXPECT_EQ(result.unverified_tokens, 150 - result.landed);
    EXPECT_EQ(verdict(result, "stopped").outcome, Outcome::kUnverified);
    EXPECT_NE(verdict(result, "stopped").reason.find("may still be computing"), std::string::npos);
    EXPECT_FALSE(result.has_failed());
  }
}

TEST(Cancel, TheServersRecordSaysWhatWasDecoded) {
  const CancelResult stops = check({.obeys = true, .has_records = true, .after_leaving = 1});
  EXPECT_EQ(stops.source, DecodedSource::kRecord);
  EXPECT_EQ(verdict(stops, "stopped").outcome, Outcome::kHolds) << verdict(stops, "stopped").reason;
  EXPECT_EQ(*stops.saved_tokens, 150 - *stops.decoded);
  EXPECT_NEAR(*stops.saved_s,
              static_cast<double>(*stops.saved_tokens) * FakeServer::kTokenMs / 1000,
              testing::is_sanitized() ? 1 : 0.05);

  const CancelResult goes_on = check({.obeys = false, .has_records = true});
  EXPECT_EQ(goes_on.source, DecodedSource::kRecord);
  EXPECT_EQ(goes_on.decoded, 150);
  EXPECT_EQ(goes_on.saved_tokens, 0);
  EXPECT_EQ(verdict(goes_on, "stopped").outcome, Outcome::kFails);
  EXPECT_EQ(verdict(goes_on, "counts").outcome, Outcome::kFails);
}

TEST(Cancel, MetricsSayItWhereThereIsNoRecord) {
  const CancelResult stops = check({.has_one_worker = false, .obeys = true, .has_metrics = true});
  EXPECT_EQ(stops.source, DecodedSource::kMetrics);
  EXPECT_EQ(verdict(stops, "stopped").outcome, Outcome::kHolds) << verdict(stops, "stopped").reason;
  const CancelResult goes_on =
      check({.has_one_worker = false, .obeys = false, .has_metrics = true});
  EXPECT_EQ(goes_on.decoded, 150);
  EXPECT_EQ(verdict(goes_on, "stopped").outcome, Outcome::kFails);
}

TEST(Cancel, TheSuffixHasPassesAndATextOfItsOwn) {
  const CancelResult honest = check({.has_records = true});
  ASSERT_GE(honest.routes.size(), 2U);
  EXPECT_EQ(honest.routes[0].name, "whole");
  EXPECT_EQ(honest.routes[1].name, "direct");
  EXPECT_TRUE(honest.true_suffix.starts_with("t20 t21 ")) << honest.true_suffix;
  EXPECT_TRUE(honest.routes[1].text.starts_with("t500 "));
  EXPECT_NE(honest.routes[0].prompt_sha256, honest.routes[1].prompt_sha256);
  EXPECT_EQ(honest.routes[1].forward_passes, 130);
  EXPECT_TRUE(honest.begins_alike);
  EXPECT_EQ(verdict(honest, "suffix").outcome, Outcome::kHolds);
  EXPECT_EQ(verdict(honest, "usage").outcome, Outcome::kHolds);

  const CancelResult magic = check({.has_records = true, .gives_suffix = true});
  EXPECT_EQ(verdict(magic, "suffix").outcome, Outcome::kFails);
}

TEST(Cancel, AnAnswerThatIsTooShortIsSaidSo) {
  ScriptedEndpoint server([](const SeenRequest& request) -> std::vector<Step> {
    if (request.head.starts_with("POST /v1/chat")) {
      return StreamScript().texts(0, 1, 5).finish(6, 3, 5);
    }
    return {{0, tests::whole_answer(404, "{}"), After::kNothing}};
  });
  const base::SteadyClock clock;
  CancelOptions options;
  options.after = 5;
  const auto result = check_cancel(testing::endpoint_at(server.url()), options, clock, {}, {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, base::ErrorCode::kInvalidArgument);
  EXPECT_NE(result.error().message.find("5 tokens"), std::string::npos);
}

TEST(Cancel, TheFiguresOfTheClaimComeOutOfTheArithmetic) {
  // 300 of 800 at 55.6 tokens per second: 500 tokens and nine seconds.
  CancelResult result;
  result.whole_tokens = 800;
  result.landed = 300;
  result.decoded = 300;
  result.source = DecodedSource::kRecord;
  result.ms_per_token = 1000 / 55.6;
  judge_cancel(CancelOptions(), result);
  EXPECT_EQ(result.saved_tokens, 500);
  EXPECT_NEAR(*result.saved_s, 9, 0.01);
}

TEST(Cancel, MetricsAreSummedOverLabelsAndNotOverNamesThatBeginAlike) {
  const std::string text =
      "# TYPE a counter\na 1\na{x=\"1\"} 2\na{x=\"} 9\"} 4e0\na_created 100\nab 7\nb{ 3\n";
  EXPECT_EQ(metric_sum(text, "a"), 7);
  EXPECT_EQ(metric_sum(text, "ab"), 7);
  EXPECT_FALSE(metric_sum(text, "b").has_value());
  EXPECT_FALSE(metric_sum("", "a").has_value());
}

}  // namespace
}  // namespace pawl::lab
