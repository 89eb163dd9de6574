// SPDX-License-Identifier: Apache-2.0
#include "engine/draft.h"

#include <algorithm>

namespace pawl::engine {

std::span<const base::TokenId> LookupDraft::propose(std::span<const base::TokenId> ids,
                                                    int64_t room) const {
  const auto count = static_cast<size_t>(std::max<int64_t>(std::min<int64_t>(wanted_, room), 0));
  const auto match = static_cast<size_t>(match_);
  if (count == 0 || ids.size() <= match) return {};
  const std::span<const base::TokenId> tail = ids.last(match);
  // The latest place is the likeliest; it may overlap the tail, as in a run of one id.
  for (size_t begin = ids.size() - match; begin-- > 0;) {
    if (!std::ranges::equal(ids.subspan(begin, match), tail)) continue;
    const size_t next = begin + match;
    return ids.subspan(next, std::min(count, ids.size() - next));
  }
  return {};
}

void LookupDraft::record(int64_t proposed, int64_t accepted) {
  if (accepted == proposed) {
    wanted_ = std::min(most_, wanted_ * 2);
    match_ = kLeastMatch;
  } else if (accepted == 0) {
    wanted_ = std::max(1, wanted_ / 2);
    match_ = std::min(kLongestMatch, match_ + 1);
  }
}

}  // namespace pawl::engine
