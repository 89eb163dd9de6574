// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.h"

#include <prometheus/client_metric.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "server/metrics_table.h"

namespace pawl::server {

namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

// From a small model's step to a long answer on a slow machine.
const Buckets& second_buckets() {
  static const Buckets buckets = {0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05,
                                  0.075, 0.1,   0.15,  0.2,   0.3,    0.5,  0.75,  1,    1.5,  2,
                                  3,     5,     7.5,   10,    15,     20,   30,    60};
  return buckets;
}

const Buckets& token_buckets() {
  static const Buckets buckets = {1,   2,   4,    8,    16,   32,   64,    128,
                                  256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
  return buckets;
}

std::string name_of(MetricId id) {
  return std::string(metric_row(id).name);
}

std::string help_of(MetricId id) {
  return std::string(metric_row(id).help);
}

prometheus::Family<prometheus::Counter>& counters(prometheus::Registry& registry, MetricId id) {
  return prometheus::BuildCounter().Name(name_of(id)).Help(help_of(id)).Register(registry);
}

prometheus::Counter& counter(prometheus::Registry& registry, MetricId id) {
  return counters(registry, id).Add({});
}

prometheus::Gauge& gauge(prometheus::Registry& registry, MetricId id,
                         const prometheus::Labels& labels = {}) {
  return prometheus::BuildGauge()
      .Name(name_of(id))
      .Help(help_of(id))
      .Register(registry)
      .Add(labels);
}

prometheus::Histogram& histogram(prometheus::Registry& registry, MetricId id) {
  return prometheus::BuildHistogram()
      .Name(name_of(id))
      .Help(help_of(id))
      .Register(registry)
      .Add({}, metric_row(id).unit == "seconds" ? second_buckets() : token_buckets());
}

// A page's family made from a value that is counted elsewhere.
prometheus::MetricFamily family_of(MetricId id, double value) {
  prometheus::MetricFamily family{name_of(id), help_of(id), prometheus::MetricType::Gauge, {{}}};
  if (metric_row(id).kind == MetricKind::kCounter) {
    family.type = prometheus::MetricType::Counter;
    family.metric[0].counter.value = value;
  } else {
    family.metric[0].gauge.value = value;
  }
  return family;
}

void add_engine(std::vector<prometheus::MetricFamily>& families, const engine::EngineStats& stats) {
  const int64_t used = stats.kv_blocks - stats.kv_blocks_free - stats.kv_blocks_evictable;
  const std::array<std::pair<MetricId, int64_t>, 15> values = {{
      {MetricId::kRunning, stats.running},
      {MetricId::kWaiting, stats.waiting},
      {MetricId::kKvBlocks, stats.kv_blocks},
      {MetricId::kKvBlocksUsed, used},
      {MetricId::kKvBlocksCached, stats.kv_blocks_evictable},
      {MetricId::kPrefixQueries, stats.prefix_queried_tokens},
      {MetricId::kPrefixHits, stats.prefix_hit_tokens},
      {MetricId::kPromptTokens, stats.prompt_tokens},
      {MetricId::kComputedTokens, stats.computed_tokens},
      {MetricId::kGenerationTokens, stats.completion_tokens},
      {MetricId::kPreemptions, stats.preemptions},
      {MetricId::kSteps, stats.steps},
      {MetricId::kLargestFound, stats.largest.found},
      {MetricId::kLargestFellBack, stats.largest.fell_back + stats.largest.not_tried},
      {MetricId::kLargestRows, stats.largest.exact_rows},
  }};
  for (const auto& [id, value] : values) {
    families.push_back(family_of(id, static_cast<double>(value)));
  }
  const double share =
      stats.kv_blocks > 0 ? static_cast<double>(used) / static_cast<double>(stats.kv_blocks) : 0;
  families.push_back(family_of(MetricId::kKvUsage, share));
}

class StepMeter final : public engine::StepObserver {
 public:
  explicit StepMeter(prometheus::Registry& registry)
      : time_(histogram(registry, MetricId::kStepTime)),
        tokens_(histogram(registry, MetricId::kStepTokens)) {}

  bool needs_rows() const override { return false; }
  void on_step(const engine::StepRecord& record) override {
    size_t tokens = 0;
    for (const engine::StepRow& row : record.rows) tokens += row.inputs.size();
    time_.Observe(static_cast<double>(record.forward_ns + record.policy_ns) / 1e9);
    tokens_.Observe(static_cast<double>(tokens));
  }

 private:
  prometheus::Histogram& time_;
  prometheus::Histogram& tokens_;
};

}  // namespace

struct Metrics::State {
  prometheus::Registry registry;
  StepMeter step_meter{registry};
  std::array<prometheus::Histogram*, 2> latencies = {
      &histogram(registry, MetricId::kTimeToFirstToken),
      &histogram(registry, MetricId::kInterToken)};
  prometheus::Family<prometheus::Counter>& responses = counters(registry, MetricId::kHttpResponses);
  std::map<RowState, prometheus::Counter*> finished;
  std::map<CancelCause, prometheus::Counter*> cancelled;
  prometheus::Histogram& queue = histogram(registry, MetricId::kQueueTime);
  prometheus::Histogram& prefill = histogram(registry, MetricId::kPrefillTime);
  prometheus::Histogram& decode = histogram(registry, MetricId::kDecodeTime);
  prometheus::Histogram& end_to_end = histogram(registry, MetricId::kEndToEnd);
  prometheus::Histogram& prompt = histogram(registry, MetricId::kRequestPromptTokens);
  prometheus::Histogram& generation = histogram(registry, MetricId::kRequestGenerationTokens);
  prometheus::Counter& cached = counter(registry, MetricId::kCachedTokens);
  prometheus::Counter& forced = counter(registry, MetricId::kForcedTokens);
  prometheus::Counter& violations = counter(registry, MetricId::kFormatViolations);
  prometheus::Counter& accepted_draft = counter(registry, MetricId::kAcceptedDraftTokens);
  prometheus::Counter& cancelled_tokens = counter(registry, MetricId::kCancelledTokens);
  prometheus::Counter& undelivered = counter(registry, MetricId::kUndeliveredTokens);
};

// Every reason and cause is there from the start: a series that is missing cannot be told from one
// that is 0.
Metrics::Metrics(const BuildInfo& build) : state_(std::make_unique<State>()) {
  State& state = *state_;
  auto& finished = counters(state.registry, MetricId::kFinished);
  for (const RowState reason :
       {RowState::kStop, RowState::kLength, RowState::kCancelled, RowState::kError}) {
    state.finished[reason] =
        &finished.Add({{"finished_reason", std::string(row_state_name(reason))}});
  }
  auto& cancelled = counters(state.registry, MetricId::kCancelled);
  for (const CancelCause cause :
       {CancelCause::kClientClosed, CancelCause::kDeleted, CancelCause::kDeadline,
        CancelCause::kSlowReader, CancelCause::kShutdown}) {
    state.cancelled[cause] = &cancelled.Add({{"cause", std::string(cancel_cause_name(cause))}});
  }
  gauge(state.registry, MetricId::kStartTime).Set(static_cast<double>(utc_now_ms()) / 1e3);
  gauge(state.registry, MetricId::kBuildInfo,
        {{"version", build.version}, {"model", build.model}, {"isa", build.isa}})
      .Set(1);
}

Metrics::~Metrics() = default;

void Metrics::observe_ns(Latency latency, int64_t duration_ns) {
  state_->latencies[static_cast<size_t>(latency)]->Observe(static_cast<double>(duration_ns) / 1e9);
}

engine::StepObserver* Metrics::step_observer() {
  return &state_->step_meter;
}

void Metrics::count_response(std::string_view route, int status) {
  state_->responses.Add({{"route", std::string(route)}, {"code", std::to_string(status)}})
      .Increment();
}

void Metrics::count_format_violation() {
  state_->violations.Increment();
}

void Metrics::count_finished(const LedgerRow& row) {
  State& state = *state_;
  const auto finished = state.finished.find(row.state);
  PAWL_CHECK(finished != state.finished.end());
  finished->second->Increment();
  const auto cancelled = state.cancelled.find(row.cause);
  if (cancelled != state.cancelled.end()) cancelled->second->Increment();

  const auto tokens = [](int64_t count) { return static_cast<double>(count); };
  state.cached.Increment(tokens(row.cached_tokens));
  state.forced.Increment(tokens(row.forced_tokens));
  state.accepted_draft.Increment(tokens(row.accepted_draft_tokens));
  state.undelivered.Increment(
      tokens(std::max<int64_t>(0, row.completion_tokens - row.delivered_tokens)));
  if (row.state == RowState::kCancelled) {
    state.cancelled_tokens.Increment(tokens(row.completion_tokens));
  }
  state.prompt.Observe(tokens(row.prompt_tokens));
  if (row.queue_ms) state.queue.Observe(*row.queue_ms / 1e3);
  if (row.prefill_ms) state.prefill.Observe(*row.prefill_ms / 1e3);
  if (row.state != RowState::kStop && row.state != RowState::kLength) return;
  state.generation.Observe(tokens(row.completion_tokens));
  if (row.decode_ms) state.decode.Observe(*row.decode_ms / 1e3);
  if (row.total_ms) state.end_to_end.Observe(*row.total_ms / 1e3);
}

std::string Metrics::render(const engine::EngineStats& engine, const ServerGauges& server) const {
  std::vector<prometheus::MetricFamily> families = state_->registry.Collect();
  add_engine(families, engine);
  families.push_back(family_of(MetricId::kConnections, static_cast<double>(server.connections)));
  families.push_back(
      family_of(MetricId::kLedgerRowsWaiting, static_cast<double>(server.ledger_rows_waiting)));
  std::ostringstream page;
  prometheus::TextSerializer().Serialize(page, families);
  return std::move(page).str();
}

}  // namespace pawl::server
