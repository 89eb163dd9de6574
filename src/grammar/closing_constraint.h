// SPDX-License-Identifier: Apache-2.0
// A constraint under which a JSON text is whole when its tokens are spent. It knows one way to the
// end at any time, and lets nothing be chosen from where no way would be short enough: so there is
// always one left, and where it is the only one it is gone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "grammar/ending.h"
#include "grammar/walk_constraint.h"

namespace pawl::grammar {

// Threads: the engine's, as Constraint says.
class ClosingConstraint final : public policy::Constraint {
 public:
  // `walk` stands where an answer begins, and `ending` ends one from there, the end id included.
  // most_tokens: of the answer with its end id. REQUIRES: ending.size() <= most_tokens
  ClosingConstraint(GuardedWalk walk, std::unique_ptr<WalkConstraint> masks,
                    std::shared_ptr<const EndingWords> words, std::vector<base::TokenId> ending,
                    int64_t most_tokens);

  base::Result<void> fill_mask(policy::TokenMask& mask) override;
  bool permits(base::TokenId id, policy::TokenMask& mask) override;
  base::Result<void> accept(base::TokenId id) override;
  void rollback(int32_t tokens) override;
  bool is_complete() const override { return masks_->is_complete(); }
  std::vector<base::TokenId> forced() override;
  void prepare_mask() override;

 private:
  using Ids = std::vector<base::TokenId>;
  bool is_last_way() const { return static_cast<int64_t>(ending_.size()) >= left_; }
  // The ids behind `ids`, of which at most `most` may be; nothing when no way is known.
  std::optional<Ids> ending_behind(const Ids& ids, int64_t most);
  base::Result<std::optional<Ids>> look_behind(const Ids& ids, int64_t most);
  std::optional<Ids> rest_behind(const Ids& ids) const;

  GuardedWalk look_;  // where the answer stands, to look ahead from
  std::unique_ptr<WalkConstraint> masks_;
  std::shared_ptr<const EndingWords> words_;
  std::vector<JsonPlace> places_;  // before each accepted id and at the end
  Ids accepted_;
  Ids ending_;    // from here: not empty before the end
  int64_t left_;  // ids that may still come
  struct Seen {
    base::TokenId id;
    Ids ending;
  };
  std::optional<Seen> permitted_;  // what was looked at last, and the way behind it
  int refused_ = 0;                // ids, since one was accepted
  bool is_blind_ = false;          // the walk to look ahead with gave up
};

}  // namespace pawl::grammar
