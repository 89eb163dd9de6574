// SPDX-License-Identifier: Apache-2.0
// The shortest way from inside a JSON text to its end: which tokens would close what is open and
// say what a schema still demands. A search through the grammar itself, so what it gives is always
// a whole answer; of the shortest it gives the best that it found within its limits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "grammar/guarded_walk.h"
#include "grammar/json_place.h"

namespace pawl::grammar {

// The entries of a vocabulary as one looks for them when a text is to end. Shared, immutable.
struct EndingWords {
  EndingWords(std::shared_ptr<const TokenTexts> texts, std::vector<base::TokenId> end_ids);

  // The fewest ids that spell a text; nothing where no ids do.
  std::optional<std::vector<base::TokenId>> spell(std::string_view text) const;

  std::shared_ptr<const TokenTexts> texts;
  std::vector<base::TokenId> end_ids;
  std::unordered_map<std::string_view, base::TokenId> ids;  // by their bytes
  std::array<std::vector<base::TokenId>, 256> by_first;     // the shortest first
  std::vector<base::TokenId> fillers;  // letters or spaces alone, the longest first
  size_t longest = 0;                  // bytes of an entry
};

struct EndingSearch {
  int64_t most_tokens = INT64_MAX;  // the end id included: a longer way is none
  int nodes = 4000;                 // that are looked at; each costs a mask
  // The first way that is short enough will do; else the shortest is looked for.
  bool takes_any = false;
};

// Ids from where `walk` stands to the end of the answer, the end id included; nothing: none was
// found. `place`: where the text stands. The walk is as before afterwards. Errors of the walk.
base::Result<std::optional<std::vector<base::TokenId>>> find_ending(GuardedWalk& walk,
                                                                    const JsonPlace& place,
                                                                    const EndingWords& words,
                                                                    const EndingSearch& search);

// Whether the ids may follow, one after the other; the walk is as before afterwards.
base::Result<bool> takes(GuardedWalk& walk, const std::vector<base::TokenId>& ids);

}  // namespace pawl::grammar
