// SPDX-License-Identifier: Apache-2.0
#include "lab/cancel_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/cancel_requests.h"
#include "lab/cancel_routes.h"

namespace pawl::lab {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr double kNsPerMs = 1e6;

// Bytes of the answer's text that its first `tokens` tokens hold, as far as chunks tell.
size_t bytes_of_tokens(const RequestRecord& record, int64_t tokens) {
  size_t bytes = 0;
  for (const RawEvent& event : record.events) {
    if (tokens <= 0) break;
    if (!is_content_event(event)) continue;
    bytes += static_cast<size_t>(event.answer_bytes);
    tokens -= event.tokens.value_or(1);
  }
  return std::min(bytes, record.text.size());
}

// The steps of one check, in the order of run().
class CancelRun {
 public:
  CancelRun(Endpoint endpoint, const CancelOptions& options, const base::Clock& clock,
            const ProgressLine& progress, const std::function<bool()>& stop)
      : endpoint_(std::move(endpoint)),
        options_(options),
        clock_(clock),
        progress_(progress),
        requests_(clock, stop) {}

  Result<CancelResult> run() {
    PAWL_TRY_VOID(open());
    PAWL_TRY_VOID(probe_idle());
    PAWL_TRY_VOID(answer_whole());
    PAWL_TRY_VOID(answer_cancelled());
    PAWL_TRY_VOID(find_decoded());
    PAWL_TRY_VOID(
        walk_routes({requests_, endpoint_, options_, clock_, progress_, uses_record_}, result_));
    judge_cancel(options_, result_);
    return std::move(result_);
  }

 private:
  Result<void> open() {
    progress("asking the server what it is");
    PAWL_TRY(result_.facts, read_server_facts(endpoint_, clock_));
    if (endpoint_.model.empty()) endpoint_.model = result_.facts.model;
    describe(endpoint_, result_.facts, result_.conditions);
    result_.conditions.date = utc_date();
    result_.conditions.client_machine = client_machine();
    result_.conditions.concurrency = 1;
    result_.conditions.cache = "reused prompts";
    result_.conditions.sampling = "temperature 0";
    result_.conditions.prompt_counting = "usage";
    result_.after = options_.after;
    result_.of = options_.of;
    uses_record_ = options_.uses_records && result_.facts.has_request_records;
    uses_metrics_ = !uses_record_ && options_.uses_metrics && result_.facts.has_metrics;
    return requests_.open(endpoint_, result_.facts);
  }

  Question probe_question() {
    Question probe = requests_.question(fmt::format("Probe {}: say yes.", ++probes_), 1);
    probe.keeps_text = false;
    return probe;
  }

  bool wants_probes() const { return !uses_record_ && !uses_metrics_; }

  Result<void> probe_idle() {
    if (!wants_probes()) return {};
    progress("timing a short request, nobody else served");
    std::vector<double> times;
    for (int i = 0; i < 4; ++i) {
      PAWL_TRY(const RequestRecord record,
               requests_.finish(requests_.ask(probe_question()), "a probe"));
      const auto ttft = waited_ms(record);
      if (i > 0 && ttft) times.push_back(*ttft);  // the first one warms up
    }
    std::sort(times.begin(), times.end());
    if (times.size() == 3) result_.probes.idle = times[1];
    return {};
  }

  // Text, or the end of an answer that has none: a chunk that announces the speaker may come before
  // anything was computed.
  static std::optional<double> waited_ms(const RequestRecord& record) {
    const auto text = ttft_ms(record);
    return text ? text : e2e_close_ms(record);
  }

  Result<void> answer_whole() {
    progress(fmt::format("the whole answer: {} tokens", options_.of));
    const OpenAiClient::Id id = requests_.ask(requests_.question(options_.prompt, options_.of));
    std::optional<OpenAiClient::Id> probe;
    while (wants_probes() && requests_.is_running(id) && !probe) {
      PAWL_TRY_VOID(requests_.turn());
      if (requests_.landed_tokens(id) >= options_.of / 10) probe = requests_.ask(probe_question());
    }
    PAWL_TRY(result_.whole, requests_.finish(id, "the whole answer"));
    const auto count = best_count(result_.whole.output);
    result_.whole_tokens = count ? count->count : landed_of(result_.whole);
    result_.ms_per_token = tpot_ms(result_.whole);
    result_.conditions.output_counting = count ? count->source : "chunks";
    if (probe) {
      PAWL_TRY(const RequestRecord record, requests_.finish(*probe, "a probe"));
      result_.probes.beside = waited_ms(record);
      const auto& events = result_.whole.events;
      if (record.sent_ns && !events.empty()) {
        result_.probes.rest =
            static_cast<double>(events.back().stamp_ns - *record.sent_ns) / kNsPerMs;
      }
    }
    if (result_.whole_tokens <= options_.after) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("the answer has {} tokens: there is nothing after token {}",
                               result_.whole_tokens, options_.after),
                   "--after"};
    }
    const size_t bytes = bytes_of_tokens(result_.whole, options_.after);
    result_.true_suffix = result_.whole.text.substr(bytes);
    return {};
  }

  static int64_t landed_of(const RequestRecord& record) {
    int64_t landed = 0;
    for (const RawEvent& event : record.events) {
      if (is_content_event(event)) landed += event.tokens.value_or(1);
    }
    return landed;
  }

  Result<void> answer_cancelled() {
    progress(fmt::format("the same again, left after {} tokens", options_.after));
    if (uses_metrics_) {
      PAWL_TRY(const ServerCounters before, read_counters(endpoint_, clock_));
      generated_before_ = before.generated_tokens.value_or(0);
    }
    Question asked = requests_.question(options_.prompt, options_.of);
    asked.asked.cancel_after = options_.after;
    PAWL_TRY(result_.cancelled,
             requests_.finish(requests_.ask(std::move(asked)), "the cancelled answer"));
    if (wants_probes()) {
      PAWL_TRY(const RequestRecord probe,
               requests_.finish(requests_.ask(probe_question()), "a probe"));
      result_.probes.after = waited_ms(probe);
    }
    const RequestRecord& record = result_.cancelled;
    result_.landed = landed_of(record);
    const bool is_stated = std::all_of(
        record.events.begin(), record.events.end(),
        [](const RawEvent& event) { return !is_content_event(event) || event.tokens.has_value(); });
    result_.landed_source = is_stated ? "stated by the server" : "chunks";
    result_.begins_alike = result_.whole.text.starts_with(record.text);
    return {};
  }

  Result<void> find_decoded() {
    progress("what did the server decode");
    if (uses_record_) return find_in_record();
    if (uses_metrics_) return find_in_metrics();
    find_by_probe();
    return {};
  }

  int64_t patience_end_ns() const {
    const double rest_ms = static_cast<double>(result_.whole_tokens - result_.landed) *
                           result_.ms_per_token.value_or(0);
    return clock_.now_ns() + static_cast<int64_t>((options_.patience_s * 1e3 + rest_ms) * kNsPerMs);
  }

  Result<void> find_in_record() {
    const int64_t end = patience_end_ns();
    do {
      PAWL_TRY(const auto facts, read_request(endpoint_, result_.cancelled.id, clock_));
      if (!facts) break;
      result_.record = facts;
      if (facts->is_over && facts->completion_tokens) {
        result_.decoded = facts->completion_tokens;
        result_.source = DecodedSource::kRecord;
        return {};
      }
      PAWL_TRY_VOID(requests_.wait_ms(20));
    } while (clock_.now_ns() < end);
    return {};
  }

  // The counter's growth once nothing runs. Some servers count a request when it ends by itself,
  // and a cancelled one never: then the time until nothing ran is a bound.
  Result<void> find_in_metrics() {
    const int64_t end = patience_end_ns();
    const int64_t left_ns = result_.cancelled.closed_ns.value_or(clock_.now_ns());
    std::optional<double> last;
    int64_t still_since = clock_.now_ns();
    while (clock_.now_ns() < end) {
      PAWL_TRY(const ServerCounters counters, read_counters(endpoint_, clock_));
      const int64_t now = clock_.now_ns();
      if (counters.generated_tokens != last) still_since = now;
      last = counters.generated_tokens;
      const bool is_idle = counters.running_requests ? *counters.running_requests == 0
                                                     : now - still_since > 2'000'000'000;
      if (is_idle && last) {
        const auto grown = static_cast<int64_t>(*last - generated_before_);
        if (grown >= result_.landed) {
          result_.decoded = grown;
        } else if (counters.running_requests && result_.ms_per_token) {
          const double ms = static_cast<double>(now - left_ns) / kNsPerMs;
          result_.decoded = std::min(
              result_.whole_tokens,
              result_.landed + static_cast<int64_t>(std::ceil(ms / *result_.ms_per_token)));
          result_.is_decoded_bound = true;
        }
        if (result_.decoded) result_.source = DecodedSource::kMetrics;
        return {};
      }
      PAWL_TRY_VOID(requests_.wait_ms(10));
    }
    return {};
  }

  // Tells something only where a request has to wait for another: seen beside the whole answer.
  void find_by_probe() {
    const ProbeTimes& probes = result_.probes;
    if (!probes.idle || !probes.beside || !probes.rest || !probes.after || !result_.ms_per_token) {
      return;
    }
    const bool waits = *probes.beside - *probes.idle >= *probes.rest / 2;
    if (!waits) return;
    const double waited = std::max(0.0, *probes.after - *probes.idle);
    const auto extra = static_cast<int64_t>(std::ceil(waited / *result_.ms_per_token));
    result_.decoded = std::min(result_.whole_tokens, result_.landed + extra);
    result_.is_decoded_bound = true;
    result_.source = DecodedSource::kProbe;
  }

  void progress(std::string_view line) const {
    if (progress_) progress_(line);
  }

  Endpoint endpoint_;
  const CancelOptions& options_;
  const base::Clock& clock_;
  const ProgressLine& progress_;
  CancelRequests requests_;
  CancelResult result_;
  bool uses_record_ = false, uses_metrics_ = false;
  double generated_before_ = 0;
  int probes_ = 0;
};

}  // namespace

Result<CancelResult> check_cancel(const Endpoint& endpoint, const CancelOptions& options,
                                  const base::Clock& clock, const ProgressLine& progress,
                                  const std::function<bool()>& stop) {
  return CancelRun(endpoint, options, clock, progress, stop).run();
}

}  // namespace pawl::lab
