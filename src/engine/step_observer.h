// SPDX-License-Identifier: Apache-2.0
// What a step shows to whoever looks from inside. Digests, gaps and files are the observer's
// business.
#pragma once

#include <cstdint>
#include <span>

#include "base/token.h"
#include "policy/choice.h"

namespace pawl::engine {

// Where guesses of a draft were right, a row for each token, as if it had had a step of its own.
struct StepRow {
  int64_t request = 0;
  int64_t first_position = 0;             // of `inputs`
  std::span<const base::TokenId> inputs;  // ids computed in this step
  std::span<const float> logits;  // the row the choice was made from; empty for an unfinished
                                  // prompt, and may be where the observer needs none
  // Null for an unfinished prompt. `top` is empty where a draft went on after it.
  const policy::Choice* choice = nullptr;
};

struct StepRecord {
  int64_t step = 0;
  int64_t forward_ns = 0, policy_ns = 0;
  int32_t kv_blocks_in_use = 0;
  std::span<const StepRow> rows;
};

// Called at the end of a step, on its thread. Views are valid during the call.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // False: passes need not compute rows that only the observer would look at.
  virtual bool needs_rows() const { return true; }
  virtual void on_step(const StepRecord& record) = 0;
};

}  // namespace pawl::engine
