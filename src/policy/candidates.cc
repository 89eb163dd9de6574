// SPDX-License-Identifier: Apache-2.0
#include "policy/candidates.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace pawl::policy {

void Candidates::start(std::span<const float> row) {
  logits_ = row;
  vocabulary_ = row.size();
  is_list_ = is_own_ = false;
  divisor_ = 1;
  changes_.clear();
  changes_.reserve(kMostChanges);
  if (own_.size() < row.size()) {
    own_.resize(row.size());
    ids_.resize(row.size());
  }
}

size_t Candidates::find(base::TokenId id) const {
  PAWL_CHECK(id >= 0 && static_cast<size_t>(id) < vocabulary_);
  if (!is_list_) return static_cast<size_t>(id);
  const auto end = ids_.begin() + static_cast<ptrdiff_t>(size());
  const auto at = std::lower_bound(ids_.begin(), end, id);
  return at != end && *at == id ? static_cast<size_t>(at - ids_.begin()) : size();
}

std::span<float> Candidates::own() {
  if (!is_own_) {
    std::copy(logits_.begin(), logits_.end(), own_.begin());
    logits_ = {own_.data(), logits_.size()};
    is_own_ = true;
    for (const Change& change : changes_) own_[change.index] = change.logit;
    changes_.clear();
  }
  return {own_.data(), logits_.size()};
}

void Candidates::change(size_t index, float logit) {
  PAWL_CHECK(divisor_ == 1 && index < size());
  const auto known = std::find_if(changes_.begin(), changes_.end(),
                                  [index](const Change& c) { return c.index == index; });
  if (known != changes_.end()) {
    known->logit = logit;
  } else if (!is_own_ && changes_.size() < kMostChanges) {
    changes_.push_back({index, logit});
  } else {
    own()[index] = logit;
  }
}

float Candidates::at(size_t index) const {
  for (const Change& change : changes_) {
    if (change.index == index) return change.logit;
  }
  return logits_[index];
}

Largest Candidates::largest() {
  Largest best = find_largest(logits_);
  const auto is_best = [&](const Change& change) { return change.index == best.index; };
  if (std::any_of(changes_.begin(), changes_.end(), is_best)) return find_largest(own());
  for (const auto& [index, logit] : changes_) {
    if (logit > best.value || (logit == best.value && index < best.index)) best = {logit, index};
  }
  return best;
}

void Candidates::read(size_t begin, std::span<float> to) const {
  std::copy_n(logits_.begin() + static_cast<ptrdiff_t>(begin), to.size(), to.begin());
  for (const auto& [index, logit] : changes_) {
    if (index >= begin && index - begin < to.size()) to[index - begin] = logit;
  }
}

void Candidates::divide(double by) {
  PAWL_CHECK(by > 0 && divisor_ == 1);
  divisor_ = by;
}

void Candidates::settle() {
  if (!changes_.empty()) own();
  if (divisor_ == 1) return;
  for (float& logit : own()) logit = static_cast<float>(logit / divisor_);
  divisor_ = 1;
}

void Candidates::keep(std::span<const int32_t> indices) {
  PAWL_CHECK(divisor_ == 1);
  // In place: an index is never below the place it moves to.
  for (size_t i = 0; i < indices.size(); ++i) {
    const size_t index = static_cast<size_t>(indices[i]);
    ids_[i] = id(index);
    own_[i] = at(index);
  }
  changes_.clear();
  logits_ = {own_.data(), indices.size()};
  is_list_ = is_own_ = true;
}

size_t Candidates::count() const {
  constexpr float kOut = -std::numeric_limits<float>::infinity();
  return static_cast<size_t>(
      std::count_if(logits_.begin(), logits_.end(), [](float x) { return x > kOut; }));
}

}  // namespace pawl::policy
