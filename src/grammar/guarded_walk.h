// SPDX-License-Identifier: Apache-2.0
// A walk through a grammar that also keeps what a grammar cannot: nothing that must not come twice
// does.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "bridge/grammar.h"
#include "grammar/repeat_guard.h"
#include "grammar/thinking.h"

namespace pawl::grammar {

// What each id appends to a text, and which ids have the marks that a guard looks for. Shared,
// immutable.
struct TokenTexts {
  explicit TokenTexts(std::vector<std::string> words);

  std::vector<std::string> words;  // [entries]
  std::vector<base::TokenId> quotes, two_quotes, marks;
  std::vector<base::TokenId> words_of_json;  // what may begin true, false or null
  // Of those with a quote: by what stands before it; and those of which that does not say enough,
  // as there is a backslash before it or are two more behind it.
  std::unordered_map<std::string, std::vector<base::TokenId>> by_head;
  std::vector<base::TokenId> unusual;
};

// Threads: none of its own; one thread at a time.
class GuardedWalk {
 public:
  // shapes: null: nothing is guarded. mark: the text that they speak of comes behind it; empty:
  // from the start on.
  GuardedWalk(bridge::Walk walk, std::shared_ptr<const TokenTexts> texts,
              std::shared_ptr<const GuardShapes> shapes, std::string_view mark = {});

  // As of bridge::Walk.
  base::Result<void> fill_mask(std::span<uint64_t> words);
  base::Result<bool> accept(base::TokenId id);
  std::vector<base::TokenId> forced() { return walk_.forced(); }
  base::Result<void> rollback(int64_t tokens);
  bool is_complete() const { return walk_.is_complete(); }

 private:
  bridge::Walk walk_;
  std::shared_ptr<const TokenTexts> texts_;
  std::optional<RepeatGuard> guard_;
  ThinkingEnd thinking_;
};

}  // namespace pawl::grammar
