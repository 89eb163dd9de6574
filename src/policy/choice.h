// SPDX-License-Identifier: Apache-2.0
// Choice: what choose gives back for one row.
#pragma once

#include <cstdint>
#include <span>

#include "base/token.h"

namespace pawl::policy {

// Nothing was allowed: mask, bans and end tokens left no id, or the row holds no number.
inline constexpr base::TokenId kNoToken = -1;

struct TokenLogprob {
  base::TokenId id;
  double logprob;  // natural logarithm of the probability in the untouched row
};

struct Choice {
  base::TokenId id = kNoToken;
  // ln p of `id` in the row as the network gave it, before any stage: not the probability of the
  // draw. Meaningful only when the policy asks for logprobs.
  double logprob = 0;
  // The row's largest, largest first, the lowest id first among equals; policy.top_logprobs of
  // them, or all there are. Lives in the Scratch, until its next use.
  std::span<const TokenLogprob> top;
  // Mirostat's state after this choice, in bits. Unchanged when mirostat is off or the choice is
  // greedy.
  double mirostat_mu = 0;
};

}  // namespace pawl::policy
