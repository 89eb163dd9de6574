// SPDX-License-Identifier: Apache-2.0
// History: what a sequence has said so far, as far as its policy looks back. A pure function of the
// policy, the prompt and the choices in order, so a replay arrives at the same one. Threads: none;
// belongs to one sequence.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token.h"
#include "policy/choice.h"
#include "policy/policy.h"

namespace pawl::policy {

class History {
 public:
  struct Count {
    base::TokenId id;
    int32_t count;
  };

  // `capacity`: prompt and completion together; within it, push allocates nothing.
  explicit History(const Policy& policy, std::span<const base::TokenId> prompt = {},
                   size_t capacity = 0);

  // The next generated token. `accept` takes over mirostat's state too; `push` is for tokens that
  // were not drawn, such as forced ones. REQUIRES: id >= 0
  void accept(const Choice& choice);
  void push(base::TokenId id);

  // Tokens of the completion: the prompt does not count.
  int32_t generated() const { return generated_; }

  // How often each id stands in the last repeat_last_n tokens, of prompt and completion; ascending
  // ids, no zeros. Empty when the policy has no penalty.
  std::span<const Count> counts() const { return counts_; }

  // The last dry_penalty_last_n tokens, oldest first. Empty when DRY is off.
  std::span<const base::TokenId> dry_window() const;

  double mirostat_mu() const { return mirostat_mu_; }  // starts at 2 tau

 private:
  void count(base::TokenId id, int32_t change);

  int32_t window_ = 0;      // of the penalties: 0 none, -1 all
  int32_t dry_window_ = 0;  // likewise
  std::vector<base::TokenId> ids_;
  std::vector<Count> counts_;
  int32_t generated_ = 0;
  double mirostat_mu_;
};

}  // namespace pawl::policy
