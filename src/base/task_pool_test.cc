// SPDX-License-Identifier: Apache-2.0
#include "base/task_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <vector>

namespace pawl::base {
namespace {

TEST(TaskPool, EveryItemRunsExactlyOnceWhateverThreadsAndGrain) {
  for (int threads : {1, 2, 3, 8}) {
    TaskPool pool(threads);
    for (int64_t count : {0, 1, 2, 7, 64, 1000}) {
      for (int64_t grain : {1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
        pool.run(count, grain, [&](int64_t begin, int64_t end, int worker) {
          EXPECT_LT(worker, threads);
          for (int64_t i = begin; i < end; ++i) seen[static_cast<size_t>(i)].fetch_add(1);
        });
        for (auto& s : seen) EXPECT_EQ(s.load(), 1);
      }
    }
  }
}

// Jobs one after the other with different bodies: a late worker must never run an earlier body or
// chunk.
TEST(TaskPool, ManyShortJobsNeverMix) {
  TaskPool pool(4);
  for (int64_t job = 0; job < 20000; ++job) {
    std::atomic<int64_t> sum{0};
    const int64_t count = 1 + job % 9;
    pool.run(count, 1, [&sum, job](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) sum += i + job;
    });
    ASSERT_EQ(sum.load(), count * (count - 1) / 2 + count * job);
  }
}

// More threads than cores, and every worker asleep in between: the join still comes.
TEST(TaskPool, WakesSleepingWorkers) {
  TaskPool pool(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> done{0};
    std::atomic<int> spin{0};
    for (int i = 0; i < 200000; ++i) spin.fetch_add(1, std::memory_order_relaxed);
    pool.run(64, 1, [&](int64_t begin, int64_t end, int) {
      done.fetch_add(static_cast<int>(end - begin));
    });
    EXPECT_EQ(done.load(), 64);
  }
}

TEST(TaskPool, AvailableCpusIsAtLeastOne) {
  EXPECT_GE(TaskPool::available_cpus(), 1);
}

}  // namespace
}  // namespace pawl::base
