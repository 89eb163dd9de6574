// SPDX-License-Identifier: Apache-2.0
// The one definition of every metric. Where a metric means what one of vLLM's means, it has that
// name, with pawl_ in front.
#include <array>

#include "server/metrics_table.h"

namespace pawl::server {

namespace {

constexpr MetricKind kCounter = MetricKind::kCounter;
constexpr MetricKind kGauge = MetricKind::kGauge;
constexpr MetricKind kHistogram = MetricKind::kHistogram;

// In the order of MetricId.
constexpr std::array kTable = {
    MetricRow{"pawl_num_requests_running", kGauge, "sequences", "",
              "Sequences that hold KV blocks and take part in steps"},
    MetricRow{"pawl_num_requests_waiting", kGauge, "sequences", "",
              "Sequences that wait to be scheduled, for the first time or again"},
    MetricRow{"pawl_kv_cache_usage_perc", kGauge, "share", "",
              "KV blocks held by live sequences, of all there are; 1 is all"},
    MetricRow{"pawl_kv_blocks", kGauge, "blocks", "", "KV blocks there are"},
    MetricRow{"pawl_kv_blocks_used", kGauge, "blocks", "", "KV blocks held by live sequences"},
    MetricRow{"pawl_kv_blocks_cached", kGauge, "blocks", "",
              "KV blocks kept only because their content may be used again"},
    MetricRow{"pawl_prefix_cache_queries_total", kCounter, "tokens", "",
              "Prompt tokens looked up in the prefix cache"},
    MetricRow{"pawl_prefix_cache_hits_total", kCounter, "tokens", "",
              "Prompt tokens found in the prefix cache"},
    MetricRow{"pawl_prompt_tokens_total", kCounter, "tokens", "",
              "Prompt tokens of the sequences that were scheduled, cached ones included"},
    MetricRow{"pawl_computed_tokens_total", kCounter, "tokens", "",
              "Positions computed, of prompts and completions"},
    MetricRow{"pawl_generation_tokens_total", kCounter, "tokens", "",
              "Tokens selected, whether or not anybody received them"},
    MetricRow{"pawl_num_preemptions_total", kCounter, "preemptions", "",
              "Times that a sequence gave its KV blocks up and waited again"},
    MetricRow{"pawl_engine_steps_total", kCounter, "steps", "",
              "Turns of the engine's loop with a forward pass"},
    MetricRow{"pawl_greedy_shortcuts_total", kCounter, "rows", "",
              "Rows of logits of which the largest was found without the others"},
    MetricRow{"pawl_greedy_fallbacks_total", kCounter, "rows", "",
              "Such rows that were computed whole after all, or at once after several of them"},
    MetricRow{"pawl_greedy_exact_logits_total", kCounter, "logits", "",
              "Logits that were computed in full for the former"},

    MetricRow{"pawl_engine_step_time_seconds", kHistogram, "seconds", "",
              "Forward pass and choice of tokens of one step"},
    MetricRow{"pawl_iteration_tokens_total", kHistogram, "tokens", "",
              "Positions computed in one step"},
    MetricRow{"pawl_time_to_first_token_seconds", kHistogram, "seconds", "",
              "From receiving a request to handing its first text on"},
    MetricRow{"pawl_inter_token_latency_seconds", kHistogram, "seconds", "",
              "Between consecutive tokens of one sequence"},
    MetricRow{"pawl_http_responses_total", kCounter, "responses", "route,code",
              "HTTP responses by route and status"},

    MetricRow{"pawl_requests_finished_total", kCounter, "requests", "finished_reason",
              "Accepted requests that are over"},
    MetricRow{"pawl_requests_cancelled_total", kCounter, "requests", "cause",
              "Accepted requests that were cancelled, by what cancelled them"},
    MetricRow{"pawl_request_queue_time_seconds", kHistogram, "seconds", "",
              "From receiving a request to its first step; of all that were scheduled"},
    MetricRow{"pawl_request_prefill_time_seconds", kHistogram, "seconds", "",
              "From the first step to the first token; of all that got a token"},
    MetricRow{"pawl_request_decode_time_seconds", kHistogram, "seconds", "",
              "From the first to the last token; without cancelled and failed requests"},
    MetricRow{"pawl_e2e_request_latency_seconds", kHistogram, "seconds", "",
              "From receiving a request to its end; without cancelled and failed requests"},
    MetricRow{"pawl_request_prompt_tokens", kHistogram, "tokens", "",
              "Prompt tokens of a request; of all that were accepted"},
    MetricRow{"pawl_request_generation_tokens", kHistogram, "tokens", "",
              "Tokens selected for a request; without cancelled and failed requests"},
    MetricRow{"pawl_prompt_tokens_cached_total", kCounter, "tokens", "",
              "Prompt tokens of requests that are over which were not computed"},
    MetricRow{"pawl_generation_tokens_forced_total", kCounter, "tokens", "",
              "Tokens of requests that are over which were the only ones a grammar allowed"},
    MetricRow{"pawl_format_violations_total", kCounter, "answers", "",
              "Answers that broke the format that was asked for, and were refused"},
    MetricRow{"pawl_spec_decode_num_accepted_tokens_total", kCounter, "tokens", "",
              "Tokens of requests that are over which a draft had proposed"},
    MetricRow{"pawl_generation_tokens_cancelled_total", kCounter, "tokens", "",
              "Tokens selected for requests that ended cancelled"},
    MetricRow{"pawl_generation_tokens_undelivered_total", kCounter, "tokens", "",
              "Tokens of requests that are over which were selected and never handed to a socket"},

    MetricRow{"pawl_http_connections", kGauge, "connections", "", "Open connections"},
    MetricRow{"pawl_ledger_rows_waiting", kGauge, "rows", "",
              "Rows of the usage ledger that are not in its file yet"},
    MetricRow{"pawl_process_start_time_seconds", kGauge, "seconds", "",
              "When the server started, in seconds since 1970"},
    MetricRow{"pawl_build_info", kGauge, "one", "version,model,isa",
              "Always 1; what runs stands in the labels"},
};
static_assert(kTable.size() == static_cast<size_t>(MetricId::kEnd));

}  // namespace

std::string_view metric_kind_name(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return "counter";
    case MetricKind::kGauge:
      return "gauge";
    case MetricKind::kHistogram:
      return "histogram";
  }
  return "untyped";
}

std::span<const MetricRow> metric_table() {
  return kTable;
}

const MetricRow& metric_row(MetricId id) {
  return kTable[static_cast<size_t>(id)];
}

}  // namespace pawl::server
