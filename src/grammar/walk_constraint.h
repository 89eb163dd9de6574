// SPDX-License-Identifier: Apache-2.0
// A walk through a grammar as the engine's constraint: the next mask is computed on another thread
// from the moment on in which the engine says what follows, and is there when the model is done.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "grammar/guarded_walk.h"
#include "grammar/mask_worker.h"
#include "policy/constraint.h"

namespace pawl::grammar {

// Threads: the engine's, as Constraint says.
class WalkConstraint final : public policy::Constraint {
 public:
  // worker: null computes each mask when it is asked for.
  WalkConstraint(GuardedWalk walk, std::shared_ptr<MaskWorker> worker);
  ~WalkConstraint() override;

  base::Result<void> fill_mask(policy::TokenMask& mask) override;
  base::Result<void> accept(base::TokenId id) override;
  void rollback(int32_t tokens) override;
  bool is_complete() const override;
  std::vector<base::TokenId> forced() override;
  void prepare_mask() override;

 private:
  // Shared with the job: the constraint may be gone before it is done.
  struct State;
  void wait() const;

  std::shared_ptr<State> state_;
  std::shared_ptr<MaskWorker> worker_;
};

}  // namespace pawl::grammar
