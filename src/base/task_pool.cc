// SPDX-License-Identifier: Apache-2.0
#include "base/task_pool.h"

#include <sched.h>

#include <algorithm>

#include "base/check.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pawl::base {
namespace {

constexpr int kFieldBits = 20;
constexpr uint64_t kFieldMask = (uint64_t{1} << kFieldBits) - 1;
constexpr uint64_t kEpochMask = (uint64_t{1} << (64 - 2 * kFieldBits)) - 1;

// About 20 microseconds: longer than the gap between two jobs of one step, far shorter than a time
// slice.
constexpr int kSpins = 600;

uint64_t next_of(uint64_t ticket) {
  return ticket & kFieldMask;
}
uint64_t chunks_of(uint64_t ticket) {
  return (ticket >> kFieldBits) & kFieldMask;
}
uint64_t epoch_of(uint64_t ticket) {
  return ticket >> (2 * kFieldBits);
}
bool has_work(uint64_t ticket) {
  return next_of(ticket) < chunks_of(ticket);
}

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

int TaskPool::available_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  return std::max(1, CPU_COUNT(&set));
}

TaskPool::TaskPool(int threads) {
  PAWL_CHECK(threads >= 1);
  workers_.reserve(static_cast<size_t>(threads - 1));
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
}

TaskPool::~TaskPool() {
  stop_.store(true);
  ticket_.store((epoch_of(ticket_.load()) + 1) << (2 * kFieldBits));
  ticket_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void TaskPool::run_erased(int64_t count, int64_t grain, void* context, Chunk chunk) {
  if (count <= 0) return;
  grain = std::max<int64_t>(
      {grain, 1,
       (count + static_cast<int64_t>(kFieldMask) - 1) / static_cast<int64_t>(kFieldMask)});
  const uint64_t chunks = static_cast<uint64_t>((count + grain - 1) / grain);
  if (workers_.empty() || chunks == 1) {
    chunk(context, 0, count, 0);
    return;
  }
  // No chunk of the former job is left, so nobody reads these fields and then claims successfully.
  chunk_.store(chunk, std::memory_order_relaxed);
  context_.store(context, std::memory_order_relaxed);
  count_.store(count, std::memory_order_relaxed);
  grain_.store(grain, std::memory_order_relaxed);
  unfinished_.store(static_cast<int32_t>(chunks), std::memory_order_relaxed);
  const uint64_t epoch = (epoch_of(ticket_.load(std::memory_order_relaxed)) + 1) & kEpochMask;
  ticket_.store((epoch << (2 * kFieldBits)) | (chunks << kFieldBits), std::memory_order_release);
  ticket_.notify_all();

  while (take_chunk(0)) {
  }
  for (int spins = 0; spins < kSpins; ++spins) {
    if (unfinished_.load(std::memory_order_acquire) == 0) return;
    relax();
  }
  for (int32_t left = unfinished_.load(std::memory_order_acquire); left != 0;
       left = unfinished_.load(std::memory_order_acquire)) {
    unfinished_.wait(left, std::memory_order_acquire);
  }
}

bool TaskPool::take_chunk(int worker) {
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (has_work(ticket)) {
    const Chunk chunk = chunk_.load(std::memory_order_relaxed);
    void* const context = context_.load(std::memory_order_relaxed);
    const int64_t count = count_.load(std::memory_order_relaxed);
    const int64_t grain = grain_.load(std::memory_order_relaxed);
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
      continue;
    }
    const int64_t begin = static_cast<int64_t>(next_of(ticket)) * grain;
    chunk(context, begin, std::min(begin + grain, count), worker);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_all();
    return true;
  }
  return false;
}

void TaskPool::wait_for_work() {
  for (int spins = 0; spins < kSpins; ++spins) {
    if (has_work(ticket_.load(std::memory_order_acquire))) return;
    if (stop_.load(std::memory_order_relaxed)) return;
    relax();
  }
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (!has_work(ticket) && !stop_.load()) {
    ticket_.wait(ticket, std::memory_order_acquire);
    ticket = ticket_.load(std::memory_order_acquire);
  }
}

void TaskPool::work(int worker) {
  while (!stop_.load(std::memory_order_relaxed)) {
    wait_for_work();
    while (take_chunk(worker)) {
    }
  }
}

}  // namespace pawl::base
