// SPDX-License-Identifier: Apache-2.0
// The step: which sequences run, one forward pass over all of them, one choice each. The only place
// that sees both the model and the policy.
#pragma once

#include <atomic>
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
#include "engine/step_pace.h"
#include "kv/prefix_cache.h"
#include "kv/state_pool.h"
#include "model/forward.h"
#include "policy/choose.h"

namespace pawl::engine {

struct EngineLimits {
  int64_t context = 4096;         // positions of one sequence
  int64_t kv_positions = 0;       // of all sequences together; 0: one full context
  int max_sequences = 8;          // that run at the same time
  int64_t tokens_per_step = 256;  // bounds how long a step takes, and its buffers
  // Of these, prompts get so many in a step in which as many others or more decode, and up
  // to twice as many where more prompts than streams wait. 0: as many as make such a step take
  // about twice as long as one without (step_pace.h).
  int64_t tokens_beside_decode = 0;
  // Of a step in which prompts start and nobody decodes: a short one, so that who comes at the same
  // moment takes part in the next. 0: no such limit.
  int64_t tokens_at_start = 0;
  int prompt_rows = 16;  // rows of logits in one step for prompt_logprobs and drafts
  // What is computed serves later sequences that begin alike; not so where the model's layers have
  // a state, which is that of one position only.
  bool prefix_cache = true;
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
  model::LargestCounts largest =
      {};  // forward passes of which only the largest logit was asked for
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
  // any thread, also during a step. accept takes over what was prepared and numbered; numbers
  // ascend.
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
  int64_t finished() const { return finished_; }              // requests that ended; any thread
  int32_t free_blocks() const { return cache_.available(); }  // those of the prefix cache included

 private:
  Engine(Runtime& runtime, const EngineLimits& limits, const base::Clock& clock,
         StepObserver* observer, kv::BlockPool blocks, kv::StatePool states);

  // engine.cc: the milestones of step(), in order.
  void drop_cancelled();
  void plan();
  model::Logits forward();
  void record_pace();
  void observe();
  void retire_finished();

  void list_candidates();
  void admit(Sequence& sequence);
  bool may_reuse(const Sequence& sequence) const;
  bool awaits_prefix(const Sequence& sequence, int64_t found) const;
  std::span<const base::TokenId> reusable_ids(const Sequence& sequence) const;
  void preempt(Sequence& sequence);
  void add_drafts();
  int64_t room_for_drafts(Sequence& sequence);
  void grow_blocks(Sequence& sequence, int64_t positions);
  void give_blocks_back(Sequence& sequence);
  void keep_computed(Sequence& sequence);
  void finish(Sequence& sequence, FinishReason reason);
  Sequence& planned(size_t share) {
    return *sequences_[static_cast<size_t>(plan_.shares[share].sequence)];
  }

  // choices.cc
  struct Slot;
  void ask_for_largest();
  policy::Situation situation_of(const Sequence& sequence, std::span<const float> row,
                                 const policy::TokenMask* mask) const;
  void choose_all(const model::Logits& logits);
  void choose(Slot& slot, const Sequence& sequence, std::span<const float> row);
  void tell_prompt_tokens(Sequence& sequence, const model::Segment& segment,
                          const model::Logits& logits, int first_row);
  void show_choice(const Sequence& sequence, int64_t position,
                   std::span<const base::TokenId> inputs, std::span<const float> row,
                   const policy::Choice& choice);
  void accept_drafts(Sequence& sequence, Slot& slot, const model::Logits& logits, int first_row);
  void take_choice(Sequence& sequence, const Slot& slot, std::span<const float> row);
  void end_without_choice(Sequence& sequence, const Slot& slot, std::span<const float> row);
  void append(Sequence& sequence, base::TokenId id, const policy::Choice* choice);
  void append_forced(Sequence& sequence);
  void emit_text(Sequence& sequence, base::TokenId id, const policy::Choice* choice);

  Runtime& runtime_;
  EngineLimits limits_;
  const base::Clock& clock_;
  StepObserver* observer_;
  kv::BlockPool blocks_;
  kv::PrefixCache cache_;
  kv::StatePool states_;  // [max_sequences]
  std::unique_ptr<model::Forward> forward_;
  StepPace pace_;
  int64_t next_id_ = 1;
  std::atomic<int64_t> finished_ = 0;
  EngineStats stats_;                                 // the sums
  std::vector<std::unique_ptr<Sequence>> sequences_;  // live, in line: by priority, then arrival

  // What choosing for one segment needs.
  struct Slot {
    policy::Scratch scratch;
    policy::TokenMask mask{0};  // [vocabulary] once a constraint was seen here
    policy::Choice choice;
    std::string error;                    // of the constraint; no choice was made
    std::vector<base::TokenId> excluded;  // where only the largest logit matters
  };

  // Of the step at hand; kept so that a step allocates nothing.
  std::vector<Candidate> candidates_;
  Plan plan_;
  std::vector<model::Segment> segments_;
  std::vector<int> first_rows_;  // [segments], in the logits
  std::vector<Slot> slots_;      // [max_sequences]; of those segments that end in a choice
  std::vector<StepRow> rows_;
  std::vector<policy::Choice> chosen_;  // what rows_ points to; never grows beyond its capacity
  policy::Scratch prompt_scratch_;
  int64_t forward_ns_ = 0, policy_ns_ = 0;
};

}  // namespace pawl::engine
