// SPDX-License-Identifier: Apache-2.0
// The engine on a thread of its own, and the only way into it from others. Requests wait in an
// inbox until the engine takes them between two steps; nobody waits for a step.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/engine.h"

namespace pawl::engine {

struct ServiceLimits {
  EngineLimits engine;
  int max_waiting = 64;  // requests accepted beyond engine.max_sequences
};

using ServiceStats = EngineStats;

// Threads: thread-safe. Sinks are called on the engine's thread and must not call drain, stop or
// the destructor.
class Service {
 public:
  // runtime, clock, observer: outlive the service; the runtime's pool is the engine's from here on.
  // observer may be null; it is called on the engine's thread. Errors as of Engine::create.
  static base::Result<std::unique_ptr<Service>> start(Runtime& runtime, const ServiceLimits& limits,
                                                      const base::Clock& clock,
                                                      StepObserver* observer = nullptr);
  ~Service();  // stops

  // Accepts a request and gives its number; from then on it gets exactly one Finished. The request
  // is checked here, on the caller's thread. Errors: kInvalidArgument as of Engine::submit,
  // kOverloaded when every slot is taken and max_waiting others wait, kUnavailable after drain or
  // stop. A request counts until just before its on_finished.
  base::Result<int64_t> submit(Request request);

  // After request_stop() on a request's stop source: the engine looks before its next step, and
  // at once if it sleeps.
  void wake();

  // As of the end of the last step, but for `waiting`, which counts the inbox too. Never waits for
  // a step.
  ServiceStats stats() const;

  // Accepts nothing more; what was accepted runs to its end.
  void drain();

  // True when nothing runs or waits any more, false when the time is over first.
  bool wait_until_idle(std::chrono::nanoseconds timeout);

  // Ends what is left with FinishReason::kShutdown within one step, and the thread with it.
  // Idempotent.
  void stop();

 private:
  Service(std::unique_ptr<Engine> engine, int max_waiting);

  void run();
  bool take_inbox();
  void publish();
  bool is_idle() const { return inbox_.empty() && stats_.running + stats_.waiting == 0; }

  std::unique_ptr<Engine> engine_;  // its thread's, but for prepare()
  const int max_waiting_;

  mutable std::mutex mutex_;  // of what follows; never held during a step or a callback
  std::condition_variable arrived_, idle_;
  std::vector<std::unique_ptr<Sequence>> inbox_;
  ServiceStats stats_;    // of the engine, without the inbox
  int64_t accepted_ = 0;  // requests; the number of the last
  bool is_draining_ = false, is_stopping_ = false, is_awake_ = false;

  std::vector<std::unique_ptr<Sequence>> taken_;  // the engine thread's
  std::mutex join_mutex_;
  std::thread thread_;
};

}  // namespace pawl::engine
