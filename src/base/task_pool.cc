// SPDX-License-Identifier: Apache-2.0
#include "base/task_pool.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

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

// std::atomic::wait calls sched_yield before it sleeps, which beside busy processes gives away a
// whole time slice: hence the system call itself.
void sleep_while(std::atomic<uint32_t>& word, uint32_t value) {
  static_assert(sizeof(word) == sizeof(uint32_t));
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
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
  publish((epoch_of(ticket_.load()) + 1) << (2 * kFieldBits));
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
  unfinished_.store(static_cast<uint32_t>(chunks), std::memory_order_relaxed);
  const uint64_t epoch = (epoch_of(ticket_.load(std::memory_order_relaxed)) + 1) & kEpochMask;
  publish((epoch << (2 * kFieldBits)) | (chunks << kFieldBits));
  while (take_chunk(0)) {
  }
  wait_for_others();
}

void TaskPool::publish(uint64_t ticket) {
  ticket_.store(ticket);
  published_.fetch_add(1);
  // Either this sees the sleeper's count, or the sleeper saw the ticket or the new `published_`.
  if (sleeping_workers_.load() > 0) wake_all(published_);
}

void TaskPool::wait_for_others() {
  for (int spins = 0; spins < kSpins; ++spins) {
    if (unfinished_.load(std::memory_order_acquire) == 0) return;
    relax();
  }
  is_caller_sleeping_.store(true);
  for (uint32_t left = unfinished_.load(); left != 0; left = unfinished_.load()) {
    sleep_while(unfinished_, left);
  }
  is_caller_sleeping_.store(false);
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
    if (unfinished_.fetch_sub(1) == 1 && is_caller_sleeping_.load()) wake_all(unfinished_);
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
  sleeping_workers_.fetch_add(1);
  for (;;) {
    const uint32_t published = published_.load();
    if (has_work(ticket_.load()) || stop_.load()) break;
    sleep_while(published_, published);
  }
  sleeping_workers_.fetch_sub(1);
}

void TaskPool::work(int worker) {
  while (!stop_.load(std::memory_order_relaxed)) {
    wait_for_work();
    while (take_chunk(worker)) {
    }
  }
}

}  // namespace pawl::base
