// SPDX-License-Identifier: Apache-2.0
// Who takes part in the next step, with how many tokens, and who must give its blocks up: numbers
// in, numbers out. No clock, no thread, no tensor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pawl::engine {

// A live sequence as the scheduler sees it; first in the list is first in line.
struct Candidate {
  int64_t length = 0;       // ids known: prompt and completion
  int64_t computed = 0;     // positions whose keys and values exist (of a waiting sequence: would
                            // be found in the prefix cache); length - computed >= 1
  bool is_running = false;  // holds blocks for all of `length` but perhaps the ids that came last
  bool decodes = false;     // runs, and what is to be computed came in the last step: one id, or
                            // some of which all but the first were the only way on
  int64_t blocks = 0;       // that it holds (would take over, without cost, where others hold them)
  int64_t own_blocks = 0;   // of those it holds, how many come back when it gives them up
  bool wants_all_rows = false;  // a row of logits for every token, not for the last alone
  int priority = 0;             // of the request; the list is sorted by it
  // It waits although it could start: another computes what it begins with, and will keep it.
  bool awaits_prefix = false;
};

struct Share {
  int sequence;    // index of the candidate; one that waits starts with this share
  int64_t tokens;  // of its uncomputed ids, from the first on
};

struct Budget {
  int64_t tokens = 512;               // in one step
  int64_t tokens_beside_decode = 32;  // of prompts, in a step in which as many or more decode
  int64_t tokens_at_start = 0;        // of a step in which prompts start and nobody decodes; 0: any
  int64_t rows = 8;                   // of logits in one step
  int64_t sequences = 8;              // that run at the same time; at most `rows`
  int64_t free_blocks = 0;
};

// Both parts are cleared and filled by plan_step. All preempted give their blocks up before any
// share takes some.
struct Plan {
  std::vector<Share> shares;
  std::vector<int> preempted;  // indices
};

// Sequences that decode come first, with what came last, so that no prompt delays them; what is
// left of the budget goes to prompts. Beside decodes that is tokens_beside_decode, and up to twice
// as many where more prompts than decodes wait: who waits for a first token counts as much as who
// waits for the next, within bounds. Prompts of the first priority in line share it, so that none
// waits for the end of a long one; what they leave goes to the others in line. Where a decode finds
// no block for its next position, running sequences are preempted from the end of the line on,
// itself at last.
//
// The first in line that waits starts when a slot is free and blocks for all its ids are, with one
// left over for each that runs; none overtakes it but while it awaits a prefix. Nobody starts in a
// step that preempts. Shares are empty only if somebody was preempted, and then nobody runs any
// more: plan again.
void plan_step(std::span<const Candidate> candidates, Budget budget, Plan& plan);

}  // namespace pawl::engine
