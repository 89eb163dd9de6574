// SPDX-License-Identifier: Apache-2.0
#include "policy/history.h"

#include <algorithm>

#include "base/check.h"

namespace pawl::policy {

namespace {

std::span<const base::TokenId> last(std::span<const base::TokenId> ids, int32_t window) {
  if (window < 0 || static_cast<size_t>(window) >= ids.size()) return ids;
  return ids.last(static_cast<size_t>(window));
}

}  // namespace

History::History(const Policy& policy, std::span<const base::TokenId> prompt, size_t capacity)
    : window_(is_active(Stage::kPenalties, policy) ? policy.repeat_last_n : 0),
      dry_window_(is_active(Stage::kDry, policy) ? policy.dry_penalty_last_n : 0),
      mirostat_mu_(2 * policy.mirostat_tau) {
  if (window_ == 0 && dry_window_ == 0) return;
  ids_.reserve(std::max(capacity, prompt.size()));
  ids_.assign(prompt.begin(), prompt.end());
  if (window_ == 0) return;

  // A prompt is counted by sorting it once: one insertion at a time would be quadratic.
  const std::span<const base::TokenId> counted = last(ids_, window_);
  std::vector<base::TokenId> sorted(counted.begin(), counted.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t most = window_ < 0 ? ids_.capacity() : std::min<size_t>(window_, ids_.capacity());
  counts_.reserve(most + 1);
  for (const base::TokenId id : sorted) {
    if (counts_.empty() || counts_.back().id != id) counts_.push_back({id, 0});
    ++counts_.back().count;
  }
}

void History::accept(const Choice& choice) {
  push(choice.id);
  mirostat_mu_ = choice.mirostat_mu;
}

void History::push(base::TokenId id) {
  PAWL_CHECK(id >= 0);
  ++generated_;
  if (window_ == 0 && dry_window_ == 0) return;
  ids_.push_back(id);
  if (window_ == 0) return;
  count(id, 1);
  if (window_ > 0 && ids_.size() > static_cast<size_t>(window_)) {
    count(ids_[ids_.size() - 1 - static_cast<size_t>(window_)], -1);
  }
}

std::span<const base::TokenId> History::dry_window() const {
  return last(ids_, dry_window_);
}

void History::count(base::TokenId id, int32_t change) {
  const auto at =
      std::lower_bound(counts_.begin(), counts_.end(), id,
                       [](const Count& entry, base::TokenId wanted) { return entry.id < wanted; });
  if (at == counts_.end() || at->id != id) {
    counts_.insert(at, {id, change});
  } else if ((at->count += change) == 0) {
    counts_.erase(at);
  }
}

}  // namespace pawl::policy
