// SPDX-License-Identifier: Apache-2.0
#include "lab/cancel_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/digest.h"

namespace pawl::lab {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
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

std::string sha256_of_ids(const std::vector<int64_t>& ids) {
  std::vector<std::byte> bytes;
  for (const int64_t id : ids) {
    const auto value = static_cast<uint32_t>(id);
    for (int shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<std::byte>(value >> shift));
    }
  }
  return base::sha256_hex(bytes);
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
        stop_(stop) {}

  Result<CancelResult> run() {
    PAWL_TRY_VOID(open());
    PAWL_TRY_VOID(probe_idle());
    PAWL_TRY_VOID(answer_whole());
    PAWL_TRY_VOID(answer_cancelled());
    PAWL_TRY_VOID(find_decoded());
    PAWL_TRY_VOID(walk_routes());
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
    PAWL_TRY(client_, OpenAiClient::create(endpoint_, clock_));
    return {};
  }

  Question question(std::string prompt, int64_t tokens) const {
    Question asked;
    asked.prompt = std::move(prompt);
    asked.asked.output_tokens = tokens;
    asked.keeps_text = true;
    asked.fields["temperature"] = 0;
    // Counts within the stream, from servers that are known to give them: tokens are then not
    // guessed from chunks.
    if (result_.facts.server == "pawl" || result_.facts.server == "vLLM") {
      Json usage;
      usage["include_usage"] = true;
      usage["continuous_usage_stats"] = true;
      asked.fields["stream_options"] = std::move(usage);
    }
    return asked;
  }

  Question probe_question() {
    Question probe = question(fmt::format("Probe {}: say yes.", ++probes_), 1);
    probe.keeps_text = false;
    return probe;
  }

  bool wants_probes() const { return !uses_record_ && !uses_metrics_; }

  Result<void> probe_idle() {
    if (!wants_probes()) return {};
    progress("timing a short request, nobody else served");
    std::vector<double> times;
    for (int i = 0; i < 4; ++i) {
      PAWL_TRY(const RequestRecord record, finish(client_->ask(probe_question()), "a probe"));
      const auto ttft = waited_ms(record);
      if (i > 0 && ttft) times.push_back(*ttft);  // the first one warms up
    }
    std::sort(times.begin(), times.end());
    if (times.size() == 3) result_.probes.idle = times[1];
    return {};
  }

  // Runs until the request is over. Error when it did not succeed and was not left on purpose.
  Result<RequestRecord> finish(OpenAiClient::Id id, std::string_view what) {
    for (;;) {
      for (RequestRecord& record : client_->take_finished()) done_.push_back(std::move(record));
      const auto found = std::find_if(done_.begin(), done_.end(),
                                      [&](const auto& record) { return record.index == id; });
      if (found != done_.end()) {
        RequestRecord record = std::move(*found);
        done_.erase(found);
        if (record.state == RequestState::kSuccess || record.state == RequestState::kCancelled) {
          return record;
        }
        return Error{ErrorCode::kNetwork, fmt::format("{}: {}", what, record.error),
                     result_.conditions.endpoint};
      }
      PAWL_TRY_VOID(turn());
    }
  }

  Result<void> turn() {
    if (stop_ && stop_()) return Error{ErrorCode::kCancelled, "interrupted", ""};
    constexpr int64_t kPatienceNs = 20'000'000;
    client_->run(clock_.now_ns() + kPatienceNs);
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
    const OpenAiClient::Id id = client_->ask(question(options_.prompt, options_.of));
    std::optional<OpenAiClient::Id> probe;
    while (wants_probes() && client_->is_running(id) && !probe) {
      PAWL_TRY_VOID(turn());
      if (client_->landed_tokens(id) >= options_.of / 10) probe = client_->ask(probe_question());
    }
    PAWL_TRY(result_.whole, finish(id, "the whole answer"));
    const auto count = best_count(result_.whole.output);
    result_.whole_tokens = count ? count->count : landed_of(result_.whole);
    result_.ms_per_token = tpot_ms(result_.whole);
    result_.conditions.output_counting = count ? count->source : "chunks";
    if (probe) {
      PAWL_TRY(const RequestRecord record, finish(*probe, "a probe"));
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
    Question asked = question(options_.prompt, options_.of);
    asked.asked.cancel_after = options_.after;
    PAWL_TRY(result_.cancelled, finish(client_->ask(std::move(asked)), "the cancelled answer"));
    if (wants_probes()) {
      PAWL_TRY(const RequestRecord probe, finish(client_->ask(probe_question()), "a probe"));
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

  Result<void> wait_ms(int64_t ms) {
    const int64_t until = clock_.now_ns() + ms * 1'000'000;
    while (clock_.now_ns() < until) {
      if (stop_ && stop_()) return Error{ErrorCode::kCancelled, "interrupted", ""};
      client_->run(std::min(until, clock_.now_ns() + 20'000'000));
    }
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
      PAWL_TRY_VOID(wait_ms(20));
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
      PAWL_TRY_VOID(wait_ms(10));
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

  Result<void> walk_routes() {
    PAWL_TRY_VOID(add_route("whole", options_.prompt, result_.whole, result_.true_suffix));
    const int64_t rest = result_.whole_tokens - options_.after;
    progress(fmt::format("the last {} tokens alone", rest));
    const std::string direct = fmt::format(
        "{}\n\nAnswer with the end only: what follows the first {} tokens of your answer.",
        options_.prompt, options_.after);
    PAWL_TRY(const RequestRecord answer,
             finish(client_->ask(question(direct, rest)), "the direct request"));
    PAWL_TRY_VOID(add_route("direct", direct, answer, answer.text));
    return continue_prefix(rest);
  }

  // The first K tokens as prompt: possible only because they were decoded before. Chats need a
  // server that goes on with an assistant's message.
  Result<void> continue_prefix(int64_t rest) {
    const std::string prefix =
        result_.whole.text.substr(0, result_.whole.text.size() - result_.true_suffix.size());
    Question asked = question(options_.prompt + prefix, rest);
    if (endpoint_.is_chat) {
      if (result_.facts.server != "pawl" && result_.facts.server != "vLLM") return {};
      Json user, assistant;
      user["role"] = "user";
      user["content"] = options_.prompt;
      assistant["role"] = "assistant";
      assistant["content"] = prefix;
      asked.fields["messages"] = Json::array_of({std::move(user), std::move(assistant)});
      asked.fields["continue_final_message"] = true;
      asked.fields["add_generation_prompt"] = false;
    }
    progress(fmt::format("the last {} tokens, with the first {} given", rest, options_.after));
    // A server may refuse it: the other routes stand without this one.
    auto answer = finish(client_->ask(std::move(asked)), "the continued request");
    if (!answer.ok()) {
      if (answer.error().code == ErrorCode::kCancelled) return std::move(answer).error();
      return {};
    }
    return add_route("continued", options_.prompt + prefix, *answer, answer->text);
  }

  Result<void> add_route(std::string name, const std::string& prompt, const RequestRecord& record,
                         std::string text) {
    SuffixRoute route;
    route.name = std::move(name);
    route.text = std::move(text);
    route.prompt_tokens = record.prompt.usage;
    route.decoded_tokens = record.output.usage;
    route.ms = e2e_ms(record).value_or(0);
    const bool is_plain = route.name != "continued" || !endpoint_.is_chat;
    if (is_plain && result_.facts.tokenize != TokenizeWay::kNone) {
      PAWL_TRY(const CountedPrompt counted, count_prompt(endpoint_, result_.facts, prompt, clock_));
      route.prompt_sha256 = sha256_of_ids(counted.ids);
      route.is_digest_of_ids = true;
    } else {
      route.prompt_sha256 = base::sha256_hex(std::as_bytes(std::span<const char>(prompt)));
    }
    if (uses_record_) {
      PAWL_TRY(const auto facts, read_request(endpoint_, record.id, clock_));
      if (facts) route.forward_passes = facts->forward_passes;
    }
    result_.routes.push_back(std::move(route));
    return {};
  }

  void progress(std::string_view line) const {
    if (progress_) progress_(line);
  }

  Endpoint endpoint_;
  const CancelOptions& options_;
  const base::Clock& clock_;
  const ProgressLine& progress_;
  const std::function<bool()>& stop_;
  std::unique_ptr<OpenAiClient> client_;
  std::vector<RequestRecord> done_;
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
