// SPDX-License-Identifier: Apache-2.0
// Prefill against decode, measured at several prompt lengths: how long each takes, what the machine
// could do just then, and what the same token costs when no keys and values are kept. Nothing is
// judged here; probe/phases_analysis.h does that, from these numbers alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/runtime.h"
#include "probe/cost.h"
#include "probe/machine.h"

namespace pawl::probe {

struct PhasesOptions {
  std::vector<int64_t> prompts = {16, 32, 64, 128, 256, 512, 1024};  // ascending, at least 2 each
  int64_t steps = 8;  // decode steps at each length and round
  int rounds = 5;
  uint64_t seed = 1;  // of the ids, and of the order within a round
};

// One length in one round. Seconds.
struct PhasesRound {
  MachineLimits limits;        // measured directly before
  double cores = 1;            // what the threads had of the time they took: less beside others
  double prefill_s = 0;        // the prompt, from nothing to its last row
  double pass_s = 0;           // its last pass of up to a step's tokens,
  double half_pass_s = 0;      // and one over the last half of these
  double decode_s = 0;         // one token behind the prompt: the middle one of the steps
  double double_decode_s = 0;  // one token behind each of two prompts, in one pass, likewise
  double uncached_s = 0;       // the same token with no keys and values kept: all passes again
};

struct PhasesLength {
  int64_t prompt = 0;
  int64_t pass_tokens = 0;  // of the pass that is halved
  Cost prefill;             // of the whole prompt
  Cost decode;              // of one step, the mean of the steps
  Cost uncached;            // of one step
  std::vector<PhasesRound> rounds;
};

struct PhasesSamples {
  std::vector<PhasesLength> lengths;  // ascending
  int64_t step_tokens = 0;            // at most in one pass
  bool has_float_weights = false;     // products are not of 8-bit numbers
};

struct PhasesProgress {
  int64_t done = 0, total = 0;  // in tokens to compute
  int round = 0;                // 1 …
  int64_t prompt = 0;
};

// Errors: kInvalidArgument for lengths the model's context cannot hold, kOutOfMemory, kCancelled
// soon after `stop` is asked to.
base::Result<PhasesSamples> measure_phases(
    engine::Runtime& runtime, const PhasesOptions& options, const base::Clock& clock,
    const std::stop_token& stop, const std::function<void(const PhasesProgress&)>& progress);

// The least tokens of a prompt, in one pass, at which operations per byte reach `ridge`; nothing
// when a step's tokens do not suffice.
std::optional<int64_t> crossing_of(const engine::Runtime& runtime, double ridge);

}  // namespace pawl::probe
