// SPDX-License-Identifier: Apache-2.0
// Candidates: the ids that are still in the game and their logits. Starts as a view of the whole
// row; the row is copied at the first change and becomes a list at the first cut, so that no cut
// means no copy and no sort. The order is always that of the ids, whatever was cut: a cut that
// removes nothing changes no draw. Threads: none; one per worker, used again for every row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token.h"

namespace pawl::policy {

class Candidates {
 public:
  // Views `row` [vocabulary] until the first change. Allocates only for a vocabulary larger than
  // any before.
  void start(std::span<const float> row);

  size_t size() const { return logits_.size(); }

  // [size()]; -inf marks an id that is out without having been cut off the list.
  std::span<const float> logits() const { return logits_; }
  base::TokenId id(size_t index) const {
    return is_list_ ? ids_[index] : static_cast<base::TokenId>(index);
  }

  // Where `id` stands, or size() when it was cut. REQUIRES: 0 <= id < vocabulary
  size_t find(base::TokenId id) const;

  // [size()], to be changed in place. REQUIRES: settled, as do keep and count
  std::span<float> edit();

  // Every logit becomes float(logit / by). Put off until settle(): logits() are to be read as
  // divided by divisor() until then, and a draw, which looks at few of them, never needs the
  // others. REQUIRES: settled, by > 0
  void divide(double by);
  double divisor() const { return divisor_; }  // 1 when settled
  void settle();

  // Cuts all but these. REQUIRES: ascending, each below size()
  void keep(std::span<const int32_t> indices);

  // How many are above -inf, in one pass.
  size_t count() const;

 private:
  std::span<const float> logits_;  // the row, or the front of own_
  size_t vocabulary_ = 0;
  bool is_list_ = false;  // ids_ says which; otherwise the index is the id
  bool is_own_ = false;   // logits_ points into own_
  double divisor_ = 1;
  std::vector<float> own_;
  std::vector<base::TokenId> ids_;
};

}  // namespace pawl::policy
