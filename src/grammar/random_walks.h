// SPDX-License-Identifier: Apache-2.0
// Texts that come of choosing by chance among what a mask allows: uniform bytes are worse than any
// model at any temperature. For schema_judge.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "bridge/grammar.h"
#include "bridge/validator.h"
#include "grammar/guarded_walk.h"
#include "policy/token_mask.h"

namespace pawl::grammar {

// Over a vocabulary of single bytes and one end. Threads: none.
class RandomWalks {
 public:
  static constexpr base::TokenId kEnd = 256;

  RandomWalks(const bridge::Grammar& grammar, std::shared_ptr<const TokenTexts> texts,
              std::shared_ptr<const GuardShapes> shapes)
      : grammar_(grammar), texts_(std::move(texts)), shapes_(std::move(shapes)) {}

  // {"whole": n, "cut": n without end, "stuck": n, "invalid": [text, …]} of so many.
  base::Json verdict(const bridge::Validator& judge, int64_t walks);

 private:
  // Every other walk likes to end; and past a length each does, as a text of which nobody says so
  // has no end.
  static constexpr size_t kFreeBytes = 600, kMostBytes = 6000;

  bool walk(uint64_t seed, std::string& text);
  std::vector<base::TokenId> allowed_of(GuardedWalk& walk);

  const bridge::Grammar& grammar_;
  std::shared_ptr<const TokenTexts> texts_;
  std::shared_ptr<const GuardShapes> shapes_;
  policy::TokenMask mask_{kEnd + 1};
};

}  // namespace pawl::grammar
