// SPDX-License-Identifier: Apache-2.0
#include "server/recorder.h"

#include <utility>

namespace pawl::server {

Recorder::Recorder(std::unique_ptr<Ledger> ledger, const BuildInfo& build)
    : ledger_(std::move(ledger)), metrics_(build) {}

void Recorder::set_engine_stats(std::function<engine::EngineStats()> stats) {
  const std::scoped_lock lock(mutex_);
  stats_ = std::move(stats);
}

std::string Recorder::metrics_text() const {
  engine::EngineStats stats;
  {
    const std::scoped_lock lock(mutex_);
    if (stats_) stats = stats_();
  }
  ServerGauges gauges;
  gauges.connections = connections_.load();
  if (ledger_) gauges.ledger_rows_waiting = static_cast<int64_t>(ledger_->waiting());
  return metrics_.render(stats, gauges);
}

Records Recorder::records() {
  Records records;
  if (ledger_) {
    records.begin = [this](LedgerRow row) { return ledger_->begin(std::move(row)); };
    records.lookup = [this](std::string_view id) { return ledger_->lookup(id); };
  }
  records.end = [this](LedgerRow row) {
    metrics_.count_finished(row);
    if (ledger_) ledger_->end(std::move(row));
  };
  records.response = [this](std::string_view route, int status) {
    metrics_.count_response(route, status);
  };
  records.connections = [this](int change) { connections_ += change; };
  records.metrics_text = [this] { return metrics_text(); };
  records.clock.first_token = [this](int64_t ns) {
    metrics_.observe_ns(Latency::kTimeToFirstToken, ns);
  };
  records.clock.format_violation = [this] { metrics_.count_format_violation(); };
  records.clock.token_gap = [this](int64_t ns) { metrics_.observe_ns(Latency::kInterToken, ns); };
  return records;
}

}  // namespace pawl::server
