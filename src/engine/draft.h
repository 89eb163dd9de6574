// SPDX-License-Identifier: Apache-2.0
// Guesses of the tokens to come, never trusted: a step computes them beside its own token, and one
// stays only while it is what the policy chose. No result depends on them, only the time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token.h"

namespace pawl::engine {

// In one step, where nothing else is said: so many cost little beside the token itself.
inline constexpr int kDraftTokens = 8;

// Guesses that what followed the last few ids before will follow them again: free to make, and
// often right where an answer quotes its prompt or repeats itself.
class LookupDraft {
 public:
  // most: guesses in one step at most; 0: never any.
  explicit LookupDraft(int most) : most_(most), wanted_(most < kFirst ? most : kFirst) {}

  // Ids that may come after `ids`, at most `room`; none where the last ids stand nowhere before.
  // They are views into `ids`. O(ids).
  std::span<const base::TokenId> propose(std::span<const base::TokenId> ids, int64_t room) const;

  // Of `proposed` > 0 guesses so many were right, counted up to the first that was not. More are
  // made after a step in which all were right, fewer, and on a longer match, after one that had
  // none.
  void record(int64_t proposed, int64_t accepted);

  static constexpr int kFirst = 4;         // guesses before anything is known
  static constexpr int kLeastMatch = 2;    // ids that must be the same
  static constexpr int kLongestMatch = 8;  // after many misses

 private:
  int most_;
  int wanted_;
  int match_ = kLeastMatch;
};

}  // namespace pawl::engine
