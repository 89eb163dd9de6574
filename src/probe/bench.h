// SPDX-License-Identifier: Apache-2.0
// Throughput of the forward pass alone: no tokenizer, no choice, no scheduler. Repetitions go round
// all rows, so that a machine that slows down or speeds up does so for each of them.
#pragma once

#include <cstdint>
#include <functional>
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
  int repetitions = 5;
  uint64_t seed = 1;  // of the ids
};

struct BenchCase {
  enum class Kind { kPrefill, kDecode };
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

struct BenchRow {
  BenchCase shape;
  Spread tokens_per_s;                                   // of all sequences together
  double bytes_per_token = 0, operations_per_token = 0;  // probe/cost.h, mean over the row's tokens
};

// What a row reaches at its median rate.
struct Achieved {
  double bytes_per_s = 0, operations_per_s = 0;
  bool is_bound_by_reading = false;  // else by arithmetic: the limit it is nearer to
  double of_limit = 0;               // share of that limit
};
Achieved achieved(const BenchRow& row, const MachineLimits& limits);

struct BenchReport {
  MachineLimits limits;  // measured in every round, the median
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
