// SPDX-License-Identifier: Apache-2.0
// Fork-join over cores, for compute. Each thread starts with a contiguous share of the chunks and
// takes them in order, so that what it reads is one ascending stream; who is done takes from the
// end of another's share, so that a thread that lost its core to a neighbour delays the join by
// what it had claimed at most, a quarter of its share. Waiting is a bounded spin, then sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace pawl::base {

// Threads: run() from one thread at a time, never from inside a chunk. That caller is worker 0.
class TaskPool {
 public:
  explicit TaskPool(int threads);  // REQUIRES: threads >= 1
  ~TaskPool();
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls chunk(begin, end, worker) until [0, count) is covered, a multiple of `grain` items at a
  // time, in any order and on any worker; returns when all of it is done. What is computed of an
  // item must depend neither on the worker nor on where the range is cut.
  template <typename F>
  void run(int64_t count, int64_t grain, F&& chunk) {
    using Fn = std::remove_reference_t<F>;
    run_erased(count, grain, const_cast<void*>(static_cast<const void*>(&chunk)),
               [](void* context, int64_t begin, int64_t end, int worker) {
                 (*static_cast<Fn*>(context))(begin, end, worker);
               });
  }

  // The CPUs this process may use: its affinity mask, not the machine.
  static int available_cpus();

 private:
  using Chunk = void (*)(void* context, int64_t begin, int64_t end, int worker);

  // A share of the chunks of a job: epoch:24 | end:20 | next:20. Its owner claims `next`, others
  // claim `end - 1`, both by compare-exchange on the whole word, so a thread that read the job of
  // an earlier epoch can never claim a chunk of a later one.
  struct alignas(64) Share {
    std::atomic<uint64_t> word{0};
  };

  void run_erased(int64_t count, int64_t grain, void* context, Chunk chunk);
  void publish();
  void work(int worker);
  void take_chunks(int worker);
  uint32_t take_chunks_of(int from, int worker);  // how many, 0 if none was left
  uint32_t wait_for_job(uint32_t seen);
  void wait_for_others();

  std::vector<Share> shares_;  // [threads]
  uint64_t epoch_ = 0;
  // Threads that wait too long sleep on `published_` and `unfinished_`, and are woken only if
  // somebody sleeps. The job stands in the line of `published_`: a worker that saw it has it.
  alignas(64) std::atomic<uint32_t> published_{0};  // jobs given out so far
  std::atomic<int32_t> sleeping_workers_{0};
  std::atomic<Chunk> chunk_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::atomic<int64_t> count_{0};
  std::atomic<int64_t> grain_{0};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<uint32_t> unfinished_{0};  // chunks of the job not yet told as done
  std::atomic<bool> is_caller_sleeping_{false};
  std::vector<std::thread> workers_;
};

}  // namespace pawl::base
