// SPDX-License-Identifier: Apache-2.0
// Grammars over a vocabulary, and texts under way through them: which ids may follow.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "bridge/vocabulary.h"

struct pawl_grammar;  // bridge.h
struct pawl_walk;

namespace pawl::bridge {

struct GrammarLimits {
  uint64_t symbols = 200'000;
  uint64_t compile_fuel = 2'000'000;  // about 50,000 a millisecond
  uint64_t step_fuel = 2'000'000;     // of one mask; about 14,000 a millisecond
};

// Threads: none of its own; one thread at a time.
class Walk {
 public:
  // Bit i: id i may follow what was accepted; end ids have theirs like any other. Bits past the
  // vocabulary are 0. REQUIRES: words.size() >= ceil(entries / 64). Error: a limit was reached.
  base::Result<void> fill_mask(std::span<uint64_t> words);
  // False: the id may not follow, and nothing has changed. Errors as above.
  base::Result<bool> accept(base::TokenId id);
  // Ids that are the only way on, in their order, as the tokenizer spells them.
  std::vector<base::TokenId> forced();
  // REQUIRES: so many ids were accepted
  base::Result<void> rollback(int64_t tokens);
  bool is_complete() const;  // the text may end here
  base::Result<Walk> copy() const;

 private:
  friend class Grammar;
  struct Free {
    void operator()(pawl_walk* walk) const;
  };
  Walk(pawl_walk* walk, std::shared_ptr<const Vocabulary> vocabulary)
      : vocabulary_(std::move(vocabulary)), walk_(walk) {}

  std::shared_ptr<const Vocabulary> vocabulary_;  // outlives the walk
  std::unique_ptr<pawl_walk, Free> walk_;
};

// Threads: immutable; any number of threads may start walks.
class Grammar {
 public:
  enum class Source { kNodes, kLark };  // kNodes: the JSON form of bridge.h

  // Errors kInvalidArgument: the syntax, and what is wrong with it; a limit. kUnsupported: a
  // mistake of the library.
  static base::Result<std::shared_ptr<const Grammar>> compile(
      std::shared_ptr<const Vocabulary> vocabulary, Source source, std::string_view text,
      const GrammarLimits& limits);

  base::Result<Walk> walk() const;

 private:
  struct Free {
    void operator()(pawl_grammar* grammar) const;
  };
  Grammar(pawl_grammar* grammar, std::shared_ptr<const Vocabulary> vocabulary)
      : vocabulary_(std::move(vocabulary)), grammar_(grammar) {}

  std::shared_ptr<const Vocabulary> vocabulary_;  // outlives the grammar
  std::unique_ptr<pawl_grammar, Free> grammar_;
};

// Whether no text belongs to the language, in the JSON form of bridge.h; nothing when `fuel` did
// not suffice to tell. Error kInvalidArgument: no language, or one that the library refuses.
base::Result<std::optional<bool>> language_is_empty(std::string_view language, uint64_t fuel);

}  // namespace pawl::bridge
