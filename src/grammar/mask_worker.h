// SPDX-License-Identifier: Apache-2.0
// One thread on which masks are computed while the model runs.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace pawl::grammar {

// Threads: thread-safe. The destructor waits for the job at hand and drops the others.
class MaskWorker {
 public:
  MaskWorker();
  ~MaskWorker();
  MaskWorker(const MaskWorker&) = delete;
  MaskWorker& operator=(const MaskWorker&) = delete;

  void run(std::function<void()> job);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> jobs_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace pawl::grammar
