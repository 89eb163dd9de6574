// SPDX-License-Identifier: Apache-2.0
// What this machine can do at most, measured: reading memory, and multiplying 8-bit numbers. A rate
// of the engine means something beside these two only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/arena.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/task_pool.h"
#include "kernels/kernels.h"
#include "model/weights.h"

namespace pawl::probe {

struct MachineLimits {
  double read_bytes_per_s = 0;       // streams of memory, all threads of the pool together
  double int8_operations_per_s = 0;  // 2 per product of two 8-bit numbers, likewise
};

// The processor's name as the operating system gives it; nothing where it gives none.
std::optional<std::string> cpu_name();

// Measures with the threads and the instructions that the engine computes with.
class LimitMeter {
 public:
  // pool, table, clock: outlive it. Error kOutOfMemory for the buffer, which is larger than the
  // last-level cache.
  static base::Result<LimitMeter> create(base::TaskPool& pool, const kernels::Table& table,
                                         const base::Clock& clock);

  // The mean rate of a few turns, each shorter than a decode step of a small model. Not the best of
  // them: memory of a shared machine changes its speed every few milliseconds, and what runs before
  // and after the meter gets the mean as well.
  MachineLimits measure();

  // Bytes per second of the best turn so far.
  double best_read() const { return best_read_; }

 private:
  LimitMeter(base::TaskPool& pool, const kernels::Table& table, const base::Clock& clock,
             base::Arena buffer, int64_t bytes)
      : pool_(pool), table_(table), clock_(clock), buffer_(std::move(buffer)), bytes_(bytes) {}

  double read_once();     // bytes per second
  double compute_once();  // operations per second

  base::TaskPool& pool_;
  const kernels::Table& table_;
  const base::Clock& clock_;
  base::Arena buffer_;
  int64_t bytes_;
  double best_read_ = 0;
};

// The same without a model: with the best instructions ($PAWL_ISA forces others) and `threads`, 0
// for the CPUs this process may use. Errors: of choosing the instructions, kOutOfMemory.
base::Result<MachineLimits> measure_machine(int threads, const base::Clock& clock);

}  // namespace pawl::probe
