// SPDX-License-Identifier: Apache-2.0
// A vocabulary as grammars see it: what each id appends to a text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token.h"

struct pawl_vocabulary;  // bridge.h

namespace pawl::bridge {

// Threads: immutable; shared by the grammars made with it.
class Vocabulary {
 public:
  // Text in the middle of another one → its ids as the model has them. From any thread.
  using Tokenize = std::function<std::vector<base::TokenId>(std::string_view)>;

  // words [entries]: bytes of each id; empty: never part of a text. end_ids: at least one; they end
  // a text, whatever their bytes. tokenize: empty: the longest entries from the left are taken.
  // Errors: no entries, an end id outside of them.
  static base::Result<std::shared_ptr<const Vocabulary>> create(
      const std::vector<std::string>& words, std::span<const base::TokenId> end_ids,
      Tokenize tokenize);

  size_t entries() const { return entries_; }
  const pawl_vocabulary* get() const { return made_.get(); }

 private:
  struct Free {
    void operator()(pawl_vocabulary* vocabulary) const;
  };
  Vocabulary(size_t entries, Tokenize tokenize)
      : entries_(entries), tokenize_(std::move(tokenize)) {}

  size_t entries_;
  Tokenize tokenize_;
  std::unique_ptr<pawl_vocabulary, Free> made_;
};

}  // namespace pawl::bridge
