// SPDX-License-Identifier: Apache-2.0
// Throughput of the forward pass alone: no tokenizer, no choice, no scheduler. Repetitions go round
// all rows, so that a machine that slows down or speeds up does so for each of them; and what it
// can do is measured between short stretches of each, for it changes within seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/runtime.h"
#include "probe/machine.h"

namespace pawl::probe {

struct BenchOptions {
  std::vector<int64_t> prompts = {512};   // positions of each prefill row
  int64_t steps = 128;                    // forward passes of a decode row; 0: no such rows
  std::vector<int64_t> depths = {0};      // positions that are in the cache before
  std::vector<int64_t> batches = {1, 8};  // sequences that decode together
  bool greedy = false;  // decode: of each row only the largest logit, which is read next
  int repetitions = 5;
  uint64_t seed = 1;  // of the ids
};

struct BenchCase {
  enum class Kind { kPrefill, kDecode, kGreedy };
  Kind kind = Kind::kPrefill;
  int64_t tokens = 0;  // of each sequence
  int64_t batch = 1;
  int64_t depth = 0;
};
std::string_view case_name(BenchCase::Kind kind);

// Of an odd number of values the middle one, of an even number the mean of both middle ones.
struct Spread {
  double median = 0, min = 0, max = 0;
};
Spread spread_of(std::vector<double> values);  // REQUIRES: at least one

// A piece of a repetition, all of about the same length, and what the machine could do just before
// and just after it, on average.
struct Stretch {
  double bytes = 0, operations = 0;  // that had to be read and done
  int64_t ns = 0;
  MachineLimits limits;
};

// The share of the limit that binds: the rate over all stretches, of the mean limit over their
// time. A mean of the stretches' own shares would be too large, since a limit measured in a few
// milliseconds scatters and stands in the denominator.
struct Reached {
  bool is_bound_by_reading = false;  // else by arithmetic
  double of_limit = 0;
};
Reached reached(std::span<const Stretch> stretches);  // REQUIRES: at least one

struct BenchRow {
  BenchCase shape;
  Spread tokens_per_s;                                   // of all sequences together
  double bytes_per_token = 0, operations_per_token = 0;  // probe/cost.h, mean over all tokens
  bool is_bound_by_reading = false;
  MachineLimits limits;  // of the row's own time: the mean over its stretches
  Spread of_limit;       // of the repetitions
  // Of greedy rows, means over their tokens: how often whole rows were computed after all, and how
  // many of their logits where they were not.
  double whole_rows = 0, exact_rows = 0;

  double bytes_per_s() const { return bytes_per_token * tokens_per_s.median; }
  double operations_per_s() const { return operations_per_token * tokens_per_s.median; }
};

struct BenchReport {
  MachineLimits limits;  // the median of all that were measured
  double best_read_bytes_per_s = 0;
  std::vector<BenchRow> rows;
};

struct BenchProgress {
  int round = 0;  // 0: warm-up, then 1 … repetitions
  const BenchCase* shape = nullptr;
};

// Errors: kInvalidArgument for shapes that the model's context cannot hold, kOutOfMemory, and
// kCancelled soon after `stop` is asked to.
base::Result<BenchReport> bench(engine::Runtime& runtime, const BenchOptions& options,
                                const base::Clock& clock, const std::stop_token& stop,
                                const std::function<void(const BenchProgress&)>& progress);

}  // namespace pawl::probe
