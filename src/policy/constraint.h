// SPDX-License-Identifier: Apache-2.0
// Constraint: what may come next in one sequence. Declared here, where masks are used; implemented
// by whoever knows grammars. The engine fills a mask before choose and tells the constraint what
// was chosen. Threads: one sequence, one constraint, one thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "policy/token_mask.h"

namespace pawl::policy {

class Constraint {
 public:
  virtual ~Constraint() = default;

  // Sets every bit: 1 for the ids that may follow what was accepted. End ids have a bit like any
  // other. Error: the constraint can go no further; the sequence must end.
  virtual base::Result<void> fill_mask(TokenMask& mask) = 0;

  // Asked of an id that the mask allows and that was chosen. False: it may not follow after all, and
  // the mask has lost it, and maybe others, but not every id: the choice is made anew.
  virtual bool permits(base::TokenId, TokenMask&) { return true; }

  // `id` follows. Error when the constraint does not allow it; the state is then as before.
  virtual base::Result<void> accept(base::TokenId id) = 0;

  // Forgets the last `tokens` accepted ids. REQUIRES: that many were accepted
  virtual void rollback(int32_t tokens) = 0;

  // What was accepted is a whole answer: ending here is allowed.
  virtual bool is_complete() const = 0;

  // Ids that are the only way on, in their order: they need no logits to be chosen. They have not
  // been accepted. Empty: there is a choice, or nothing follows.
  virtual std::vector<base::TokenId> forced() { return {}; }

  // The next call is fill_mask, in a while: what it needs can be computed meanwhile.
  virtual void prepare_mask() {}
};

}  // namespace pawl::policy
