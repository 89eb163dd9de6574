// SPDX-License-Identifier: Apache-2.0
// Writes a trace while one request runs: the engine shows its steps, this keeps what proves them.
#pragma once

#include <functional>
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
  int64_t decode_ns() const { return decode_ns_; }  // of passes that decode, and their choices
  int64_t own_decode_ns() const { return own_decode_ns_; }  // what writing those down took

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
  int64_t decode_ns_ = 0, own_decode_ns_ = 0;
};

}  // namespace pawl::probe
