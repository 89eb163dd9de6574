// SPDX-License-Identifier: Apache-2.0
// Candidates: the ids that are still in the game and their logits. Starts as a view of the whole
// row; a few changed logits are kept beside it, many make a copy, and a cut makes a list, so that
// no cut means no copy and no sort. The order is always that of the ids, whatever was cut: a cut
// that removes nothing changes no draw. Threads: none; one per worker, used again for every row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token.h"
#include "policy/row_math.h"

namespace pawl::policy {

class Candidates {
 public:
  struct Change {
    size_t index;
    float logit;
  };

  // Views `row` [vocabulary] until the first change. Allocates only for a vocabulary larger than
  // any before.
  void start(std::span<const float> row);

  size_t size() const { return logits_.size(); }

  // [size()], but for what changed since settle(); -inf marks an id that is out without having been
  // cut off the list.
  std::span<const float> logits() const { return logits_; }
  base::TokenId id(size_t index) const {
    return is_list_ ? ids_[index] : static_cast<base::TokenId>(index);
  }

  // Where `id` stands, or size() when it was cut. REQUIRES: 0 <= id < vocabulary
  size_t find(base::TokenId id) const;

  // One logit becomes another. The row is copied for more than kMostChanges of them only: the end
  // tokens that a request holds back are two of 262,144. REQUIRES: divisor() == 1
  void change(size_t index, float logit);
  float at(size_t index) const;  // with its change, not divided

  // The first of the largest, with the changes, not divided.
  Largest largest();

  // What stands beside the row.
  std::span<const Change> changes() const { return changes_; }
  // The logits from `begin` on, with the changes, not divided.
  void read(size_t begin, std::span<float> to) const;

  // Every logit becomes float(logit / by). Put off until settle(): a draw, which looks at few of
  // them, never needs the others. REQUIRES: divisor() == 1, by > 0
  void divide(double by);
  double divisor() const { return divisor_; }  // 1 when settled

  // What was put off happens: from here on logits() tells all.
  void settle();

  // Cuts all but these. REQUIRES: divisor() == 1; ascending, each below size()
  void keep(std::span<const int32_t> indices);

  // How many are above -inf, in one pass. REQUIRES: settled
  size_t count() const;

 private:
  static constexpr size_t kMostChanges = 16;
  std::span<float> own();  // the logits as a copy that is ours

  std::span<const float> logits_;  // the row, or the front of own_
  size_t vocabulary_ = 0;
  bool is_list_ = false;  // ids_ says which; otherwise the index is the id
  bool is_own_ = false;   // logits_ points into own_
  double divisor_ = 1;
  std::vector<Change> changes_;  // none where is_own_
  std::vector<float> own_;
  std::vector<base::TokenId> ids_;
};

}  // namespace pawl::policy
