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

std::span<float> Candidates::edit() {
  if (!is_own_) {
    std::copy(logits_.begin(), logits_.end(), own_.begin());
    logits_ = {own_.data(), logits_.size()};
    is_own_ = true;
  }
  return {own_.data(), logits_.size()};
}

void Candidates::divide(double by) {
  PAWL_CHECK(by > 0 && divisor_ == 1);
  divisor_ = by;
}

void Candidates::settle() {
  if (divisor_ == 1) return;
  for (float& logit : edit()) logit = static_cast<float>(logit / divisor_);
  divisor_ = 1;
}

void Candidates::keep(std::span<const int32_t> indices) {
  // In place: an index is never below the place it moves to.
  const float* from = logits_.data();
  for (size_t i = 0; i < indices.size(); ++i) {
    const size_t index = static_cast<size_t>(indices[i]);
    ids_[i] = id(index);
    own_[i] = from[index];
  }
  logits_ = {own_.data(), indices.size()};
  is_list_ = is_own_ = true;
}

size_t Candidates::count() const {
  constexpr float kOut = -std::numeric_limits<float>::infinity();
  return static_cast<size_t>(
      std::count_if(logits_.begin(), logits_.end(), [](float x) { return x > kOut; }));
}

}  // namespace pawl::policy
