// SPDX-License-Identifier: Apache-2.0
// Writes a trace while one request runs: the engine shows its steps, this keeps what proves them.
#pragma once

#include <ctime>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/runtime.h"
#include "engine/step_observer.h"
#include "probe/trace.h"

namespace pawl::probe {

// REQUIRES: the engine runs one request, with the header's prompt. Threads: the step's.
class TraceWriter final : public engine::StepObserver {
 public:
  // Takes a line without its end.
  using Output = std::function<base::Result<void>(std::string_view)>;

  // runtime, the one that the engine runs on, and clock: outlive it. top: entries kept of each row,
  // at least 1. Gives the header out at once.
  TraceWriter(engine::Runtime& runtime, const TraceHeader& header, int top,
              const base::Clock& clock, Output output);

  void on_step(const engine::StepRecord& record) override;

  // Gives the closing line out. Error: the first that `output` had; nothing came out after it.
  base::Result<void> finish(std::string_view finish_reason);

  const TraceEnd& counts() const { return end_; }
  // What writing a pass that decodes took of the time of the pass and its choice: the middle one of
  // each, so that a step in which another process had the core counts as any other. Nothing where
  // no pass decoded.
  std::optional<double> share_of_decode() const;
  // The same in processor time of all threads, summed: what others take does not count at all.
  std::optional<double> cpu_share_of_decode() const;

 private:
  void put(std::string_view line);

  engine::Runtime& runtime_;
  int top_;
  const base::Clock& clock_;
  Output output_;
  base::Result<void> written_;
  std::vector<base::TokenId> ids_;  // prompt, and all that was selected
  size_t prompt_;
  TraceEnd end_;
  std::vector<double> decode_ns_, own_decode_ns_;  // one for each pass that decodes
  std::clock_t last_cpu_ = 0;                      // when the step before was written down
  std::clock_t decode_cpu_ = 0, own_decode_cpu_ = 0;
};

}  // namespace pawl::probe
