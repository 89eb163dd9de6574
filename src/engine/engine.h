// SPDX-License-Identifier: Apache-2.0
// The step: which sequences run, one forward pass over all of them, one choice each. The only place
// that sees both the model and the policy.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/request.h"
#include "engine/runtime.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "engine/step_observer.h"
#include "model/forward.h"
#include "policy/choose.h"

namespace pawl::engine {

struct EngineLimits {
  int64_t context = 4096;         // positions of one sequence
  int64_t kv_positions = 0;       // of all sequences together; 0: one full context
  int max_sequences = 8;          // that get logits in one step
  int64_t tokens_per_step = 256;  // bounds how long a step takes, and its buffers
};

// Counted from the start of the engine; the first five as they are.
struct EngineStats {
  int64_t running = 0;  // requests that hold KV blocks
  int64_t waiting = 0;
  int64_t kv_blocks = 0;  // in all
  int64_t kv_blocks_free = 0;
  int64_t kv_blocks_evictable = 0;    // of the prefix cache alone: as good as free
  int64_t prefix_queried_tokens = 0;  // prompt tokens looked up in the prefix cache
  int64_t prefix_hit_tokens = 0;      // of these, found
  int64_t steps = 0;
  int64_t prompt_tokens = 0;      // of the requests that were scheduled
  int64_t completion_tokens = 0;  // selected
  int64_t computed_tokens = 0;    // positions computed
  int64_t preemptions = 0;
};

// Threads: all calls but prepare() from one thread; it is worker 0 of the runtime's pool during a
// step.
class Engine {
 public:
  // runtime, clock, observer: outlive the engine. observer may be null.
  static base::Result<std::unique_ptr<Engine>> create(Runtime& runtime, const EngineLimits& limits,
                                                      const base::Clock& clock,
                                                      StepObserver* observer = nullptr);

  // Accepts a request and gives its number; from then on it gets exactly one Finished. Errors, all
  // kInvalidArgument: an empty prompt, an id outside the vocabulary, a prompt that leaves no room
  // in the context, a knob out of range.
  base::Result<int64_t> submit(Request request);

  // The two halves of submit. prepare checks the request and builds its sequence, without number;
  // any thread, also during a step. accept takes over what was prepared and numbered.
  base::Result<std::unique_ptr<Sequence>> prepare(Request request) const;
  void accept(std::unique_ptr<Sequence> sequence);

  // Ends every request, those that wait included.
  void finish_all(FinishReason reason);

  // One turn of the loop. False when no sequence is left.
  bool step();

  void run_until_idle() {
    while (step()) {
    }
  }

  const EngineLimits& limits() const { return limits_; }
  EngineStats stats() const;
  int32_t free_blocks() const { return blocks_.free_blocks(); }

 private:
  Engine(Runtime& runtime, const EngineLimits& limits, const base::Clock& clock,
         StepObserver* observer, kv::BlockPool blocks);

  // The milestones of step(), in order.
  void drop_cancelled();
  void plan();
  void admit(Sequence& sequence);
  model::Logits forward();
  void choose_all(const model::Logits& logits);
  void take_choice(Sequence& sequence, const policy::Choice& choice, std::span<const float> row);
  void emit_text(Sequence& sequence, const policy::Choice& choice);
  void observe();
  void retire_finished();
  void finish(Sequence& sequence, FinishReason reason);

  Runtime& runtime_;
  EngineLimits limits_;
  const base::Clock& clock_;
  StepObserver* observer_;
  kv::BlockPool blocks_;
  std::unique_ptr<model::Forward> forward_;
  int64_t next_id_ = 1;
  EngineStats stats_;                                 // the sums
  std::vector<std::unique_ptr<Sequence>> sequences_;  // live, in order of arrival

  // Of the step at hand; kept so that a step allocates nothing.
  std::vector<Candidate> candidates_;
  std::vector<Share> plan_;
  std::vector<model::Segment> segments_;
  std::vector<policy::Scratch> scratch_;  // [max_sequences]
  std::vector<policy::Choice> choices_;   // [plan]; only those of wanted rows mean something
  std::vector<StepRow> rows_;
  int64_t forward_ns_ = 0, policy_ns_ = 0;
};

}  // namespace pawl::engine
