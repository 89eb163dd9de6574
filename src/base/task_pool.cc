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

uint64_t share_word(uint64_t epoch, uint64_t begin, uint64_t end) {
  return epoch << (2 * kFieldBits) | end << kFieldBits | begin;
}
uint64_t next_of(uint64_t share) {
  return share & kFieldMask;
}
uint64_t end_of(uint64_t share) {
  return (share >> kFieldBits) & kFieldMask;
}

// About 20 microseconds: longer than nearly every gap between two jobs of one step, far shorter than
// a time slice. Twice as long costs 4 % beside a busy process.
constexpr int kSpins = 600;

// A thread claims a quarter of what is left of its share at once, so that a share costs a dozen
// claims, however fine its chunks; the last of them are single chunks, which even out the join.
constexpr uint64_t kClaims = 4;

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

TaskPool::TaskPool(int threads) : shares_(static_cast<size_t>(threads)) {
  PAWL_CHECK(threads >= 1);
  workers_.reserve(static_cast<size_t>(threads - 1));
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
}

TaskPool::~TaskPool() {
  stop_.store(true);
  publish();
  for (std::thread& worker : workers_) worker.join();
}

void TaskPool::run_erased(int64_t count, int64_t grain, void* context, Chunk chunk) {
  if (count <= 0) return;
  const int64_t most = static_cast<int64_t>(kFieldMask);
  grain = std::max<int64_t>({grain, 1, (count + most - 1) / most});
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
  ++epoch_;
  const uint64_t threads = shares_.size();
  for (uint64_t i = 0; i < threads; ++i) {
    shares_[i].word.store(share_word(epoch_, chunks * i / threads, chunks * (i + 1) / threads),
                          std::memory_order_release);
  }
  publish();
  take_chunks(0);
  wait_for_others();
}

void TaskPool::publish() {
  published_.fetch_add(1);
  // Either this sees the sleeper's count, or the sleeper saw the new `published_`.
  if (sleeping_workers_.load() > 0) wake_all(published_);
}

void TaskPool::take_chunks(int worker) {
  uint32_t done = 0;
  const int threads = static_cast<int>(shares_.size());
  for (int i = 0; i < threads; ++i) {
    while (const uint32_t taken = take_chunks_of((worker + i) % threads, worker)) done += taken;
  }
  // Told once, not after each chunk: on cores without a common cache every write to a word that
  // all threads write costs a fifth of the time in which a chunk's weights are read.
  if (done > 0 && unfinished_.fetch_sub(done) == done && is_caller_sleeping_.load()) {
    wake_all(unfinished_);
  }
}

uint32_t TaskPool::take_chunks_of(int from, int worker) {
  std::atomic<uint64_t>& share = shares_[static_cast<size_t>(from)].word;
  uint64_t word = share.load(std::memory_order_acquire);
  while (next_of(word) < end_of(word)) {
    const Chunk chunk = chunk_.load(std::memory_order_relaxed);
    void* const context = context_.load(std::memory_order_relaxed);
    const int64_t count = count_.load(std::memory_order_relaxed);
    const int64_t grain = grain_.load(std::memory_order_relaxed);
    const bool is_own = from == worker;
    const uint64_t left = end_of(word) - next_of(word);
    const uint64_t taken = is_own ? (left + kClaims - 1) / kClaims : 1;
    const uint64_t rest = is_own ? word + taken : word - (taken << kFieldBits);
    if (!share.compare_exchange_weak(word, rest, std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
      continue;
    }
    const uint64_t first = is_own ? next_of(word) : end_of(word) - 1;
    const int64_t begin = static_cast<int64_t>(first) * grain;
    const int64_t end = std::min(begin + static_cast<int64_t>(taken) * grain, count);
    chunk(context, begin, end, worker);
    return static_cast<uint32_t>(taken);
  }
  return 0;
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

// Returns the count of jobs once it is no longer `seen`.
uint32_t TaskPool::wait_for_job(uint32_t seen) {
  for (int spins = 0; spins < kSpins; ++spins) {
    const uint32_t published = published_.load(std::memory_order_acquire);
    if (published != seen) return published;
    relax();
  }
  sleeping_workers_.fetch_add(1);
  while (published_.load() == seen) sleep_while(published_, seen);
  sleeping_workers_.fetch_sub(1);
  return published_.load();
}

void TaskPool::work(int worker) {
  uint32_t seen = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    seen = wait_for_job(seen);
    take_chunks(worker);
  }
}

}  // namespace pawl::base
