// SPDX-License-Identifier: Apache-2.0
// What the server counts and measures, in the text format of Prometheus. metric_table() is the one
// definition of names, units and help; docs/metrics.md repeats it for people and a test holds the
// two together. Reading changes nothing.
//
// Two ways in. What happens in a step or on a connection is told when it happens (add, observe,
// set_engine). What is known of a request when it is over is told once, by count_finished. The two
// do not overlap, so nothing is counted twice.
//
// Threads: thread-safe. add: an atomic; observe: one uncontended lock, below 100 ns.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "server/ledger_row.h"

namespace pawl::server {

enum class Counter {
  kPromptTokens,         // positions of accepted prompts
  kPromptTokensCached,   // of these, not computed
  kGenerationTokens,     // selected, as they are selected
  kForcedTokens,         // of these, the only ones a grammar allowed
  kAcceptedDraftTokens,  // of these, proposed by a draft
  kPrefixQueries,        // positions looked up in the prefix cache
  kPrefixHits,           // positions found there
  kPreemptions,
  kSteps,  // turns of the engine's loop with a forward pass
  kCount
};

enum class Histogram {
  kTimeToFirstToken,  // s: received → first non-empty text handed on
  kInterToken,        // s: between consecutive tokens of one request
  kStepTime,          // s: one step of the engine
  kStepTokens,        // positions computed in one step
  kCount
};

// How things stand in the engine, given after each step and when it goes idle.
struct EngineGauges {
  int64_t running = 0;           // sequences that are part of the steps
  int64_t waiting = 0;           // sequences that are not yet, or not at present
  int64_t kv_blocks = 0;         // there are
  int64_t kv_blocks_used = 0;    // held by a live sequence
  int64_t kv_blocks_cached = 0;  // held by nobody and kept for their content, free to be taken
};

struct BuildInfo {
  std::string version;
  std::string model;  // as /v1/models names it
  std::string isa;    // kernel variant
};

class Metrics {
 public:
  explicit Metrics(const BuildInfo& build);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void add(Counter counter, int64_t count = 1);
  void observe_ns(Histogram histogram, int64_t duration_ns);  // those in seconds
  void observe(Histogram histogram, double value);            // in the unit of the table
  void set_engine(const EngineGauges& gauges);

  // A connection was opened (+1) or closed (-1).
  void add_connection(int64_t change);
  void set_ledger_waiting(int64_t rows);

  // A response's status line went out. `route` is the pattern ("/v1/requests/{id}"), never what the
  // client wrote; unknown paths share one name.
  void count_response(std::string_view route, int status);

  // A request that was accepted is over: reason, times, sizes, tokens cancelled and not delivered.
  // REQUIRES: a state other than kRunning
  void count_finished(const LedgerRow& row);

  // text/plain; version=0.0.4.
  std::string render() const;

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
