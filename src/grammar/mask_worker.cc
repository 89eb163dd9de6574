// SPDX-License-Identifier: Apache-2.0
#include "grammar/mask_worker.h"

#include <utility>

namespace pawl::grammar {

MaskWorker::MaskWorker() : thread_([this] { work(); }) {}

MaskWorker::~MaskWorker() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
  }
  arrived_.notify_one();
  thread_.join();
}

void MaskWorker::run(std::function<void()> job) {
  {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  arrived_.notify_one();
}

void MaskWorker::work() {
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return is_stopping_ || !jobs_.empty(); });
      if (is_stopping_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace pawl::grammar
