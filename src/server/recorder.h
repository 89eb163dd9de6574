// SPDX-License-Identifier: Apache-2.0
// Joins the ledger and the metrics to what the server tells: the one place that knows all three.
// Threads: thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "server/api.h"
#include "server/ledger.h"
#include "server/metrics.h"

namespace pawl::server {

class Recorder {
 public:
  // ledger: null for none.
  Recorder(std::unique_ptr<Ledger> ledger, const BuildInfo& build);

  // For Server::listen. The recorder outlives what uses them.
  Records records();

  // For the engine.
  engine::StepObserver* step_observer() { return metrics_.step_observer(); }
  // How the engine's numbers are got once there is one; empty: there is none any more.
  void set_engine_stats(std::function<engine::EngineStats()> stats);

 private:
  std::string metrics_text() const;

  std::unique_ptr<Ledger> ledger_;
  Metrics metrics_;
  std::atomic<int64_t> connections_{0};
  mutable std::mutex mutex_;
  std::function<engine::EngineStats()> stats_;
};

}  // namespace pawl::server
