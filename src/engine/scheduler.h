// SPDX-License-Identifier: Apache-2.0
// Who takes part in the next step, and with how many tokens: numbers in, numbers out. No clock, no
// thread, no tensor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pawl::engine {

// A live sequence as the scheduler sees it, in order of arrival.
struct Candidate {
  int64_t length = 0;         // ids known: prompt and completion
  int64_t computed = 0;       // positions whose keys and values exist; length - computed >= 1
  bool is_running = false;    // has its blocks
  int64_t blocks_needed = 0;  // to run from here to its end
};

struct Share {
  int sequence;    // index of the candidate
  int64_t tokens;  // of its uncomputed ids, from the first on
};

struct Budget {
  int64_t tokens = 512;  // in one step
  int64_t rows = 8;      // sequences that can be given logits in one step
  int64_t free_blocks = 0;
};

// Sequences that decode come first, one token each, so that no prompt delays them; what is left of
// the budget goes to prompts in order of arrival. A waiting sequence is admitted when the blocks
// for its whole life are free, and none overtakes the first that is not. `plan` is cleared and
// filled.
void plan_step(std::span<const Candidate> candidates, Budget budget, std::vector<Share>& plan);

}  // namespace pawl::engine
