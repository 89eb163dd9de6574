// SPDX-License-Identifier: Apache-2.0
// What the server counts and measures, in the text format of Prometheus. metric_table() is the one
// definition of names, units and help; docs/metrics.md repeats it for people and a test holds the
// two together. Reading changes nothing.
//
// Three ways in, which do not overlap, so that nothing is counted twice. What the engine counts
// comes with the reading, as its stats stand. What happens on the way is told when it happens
// (observe_ns, count_response, the step observer). What is known of a request when it is over is
// told once, by count_finished.
//
// Threads: thread-safe. An observation takes one short lock, below 100 ns.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "engine/step_observer.h"
#include "server/ledger_row.h"

namespace pawl::server {

enum class Latency {
  kTimeToFirstToken,  // received → first non-empty text handed on
  kInterToken,        // between consecutive tokens of one sequence
};

struct BuildInfo {
  std::string version;
  std::string model;  // as /v1/models names it
  std::string isa;    // kernel variant
};

// How things stand outside the engine.
struct ServerGauges {
  int64_t connections = 0;          // open
  int64_t ledger_rows_waiting = 0;  // Ledger::waiting()
};

class Metrics {
 public:
  explicit Metrics(const BuildInfo& build);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void observe_ns(Latency latency, int64_t duration_ns);

  // Measures steps; give it to the engine. Lives as long as this.
  engine::StepObserver* step_observer();

  // A response's status line went out. `route` is the pattern ("/v1/requests/{id}"), never what the
  // client wrote; unknown paths share one name.
  void count_response(std::string_view route, int status);

  // An answer broke the format that was asked for, and was refused.
  void count_format_violation();

  // A request that was accepted is over. Times and sizes enter the histograms for whole stages
  // only: of a cancelled request those of queue and prefill if it got through them.
  // REQUIRES: a state other than kRunning
  void count_finished(const LedgerRow& row);

  // The page, text/plain; version=0.0.4. A few hundred microseconds.
  std::string render(const engine::EngineStats& engine, const ServerGauges& server) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

enum class MetricKind { kCounter, kGauge, kHistogram };
std::string_view metric_kind_name(MetricKind kind);

struct MetricRow {
  std::string_view name;
  MetricKind kind;
  std::string_view unit;    // "seconds", "tokens", …
  std::string_view labels;  // names, separated by commas
  std::string_view help;
};
std::span<const MetricRow> metric_table();

}  // namespace pawl::server
