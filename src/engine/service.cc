// SPDX-License-Identifier: Apache-2.0
#include "engine/service.h"

#include <string>
#include <utility>

namespace pawl::engine {

using base::Error;
using base::ErrorCode;

base::Result<std::unique_ptr<Service>> Service::start(Runtime& runtime, const ServiceLimits& limits,
                                                      const base::Clock& clock,
                                                      StepObserver* observer) {
  PAWL_TRY(std::unique_ptr<Engine> engine, Engine::create(runtime, limits.engine, clock, observer));
  std::unique_ptr<Service> service(new Service(std::move(engine), limits.max_waiting));
  service->thread_ = std::thread([raw = service.get()] { raw->run(); });
  return service;
}

Service::Service(std::unique_ptr<Engine> engine, int max_waiting)
    : engine_(std::move(engine)), max_waiting_(max_waiting), stats_(engine_->stats()) {}

Service::~Service() {
  stop();
}

base::Result<int64_t> Service::submit(Request request) {
  PAWL_TRY(std::unique_ptr<Sequence> sequence, engine_->prepare(std::move(request)));
  const std::lock_guard lock(mutex_);
  if (is_draining_) return Error{ErrorCode::kUnavailable, "the engine is shutting down", ""};
  if (accepted_ - engine_->finished() >= engine_->limits().max_sequences + int64_t{max_waiting_}) {
    return Error{ErrorCode::kOverloaded,
                 std::to_string(max_waiting_) + " requests are waiting, which is the limit", ""};
  }
  const int64_t id = sequence->id = ++accepted_;
  inbox_.push_back(std::move(sequence));
  arrived_.notify_one();
  return id;
}

void Service::wake() {
  const std::lock_guard lock(mutex_);
  is_awake_ = true;
  arrived_.notify_one();
}

ServiceStats Service::stats() const {
  const std::lock_guard lock(mutex_);
  ServiceStats stats = stats_;
  stats.waiting += static_cast<int64_t>(inbox_.size());
  return stats;
}

void Service::drain() {
  const std::lock_guard lock(mutex_);
  is_draining_ = true;
}

bool Service::wait_until_idle(std::chrono::nanoseconds timeout) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, timeout, [this] { return is_idle(); });
}

void Service::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_draining_ = is_stopping_ = true;
    arrived_.notify_one();
  }
  const std::lock_guard lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

// False when the thread is to end.
bool Service::take_inbox() {
  std::unique_lock lock(mutex_);
  const auto has_work = [this] {
    return is_stopping_ || is_awake_ || !inbox_.empty() || stats_.running + stats_.waiting > 0;
  };
  arrived_.wait(lock, has_work);
  is_awake_ = false;
  taken_.swap(inbox_);
  stats_.waiting += static_cast<int64_t>(taken_.size());
  return !is_stopping_;
}

void Service::publish() {
  const std::lock_guard lock(mutex_);
  stats_ = engine_->stats();
  if (is_idle()) idle_.notify_all();
}

void Service::run() {
  for (bool goes_on = true; goes_on;) {
    goes_on = take_inbox();
    for (auto& sequence : taken_) engine_->accept(std::move(sequence));
    taken_.clear();
    if (goes_on) {
      engine_->step();
    } else {
      engine_->finish_all(FinishReason::kShutdown);
    }
    publish();
  }
}

}  // namespace pawl::engine
