// SPDX-License-Identifier: Apache-2.0
// What an answer is to look like → a compiled grammar → a constraint for one sequence. Compiling
// runs on the caller's thread, under limits; what was compiled is kept for those who ask the same.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "bridge/grammar.h"
#include "bridge/validator.h"
#include "grammar/ending.h"
#include "grammar/guarded_walk.h"
#include "grammar/json_grammar.h"
#include "grammar/mask_worker.h"
#include "grammar/tool_grammar.h"
#include "policy/constraint.h"
#include "text/tokenizer.h"

namespace pawl::grammar {

struct Description {
  enum class Kind {
    kJsonSchema,  // source: a JSON Schema
    kJsonObject,  // source: nothing
    kRegex,       // source: an expression that the whole answer matches
    kChoice,      // source: a JSON array of texts
    kLark,        // source: Lark as llguidance reads it
    kGbnf,        // source: GBNF
  };
  Kind kind = Kind::kJsonSchema;
  std::string source;
  bool thinks = false;  // the prompt opened the model's thinking: the answer comes behind its end
};

// What endings are looked for with; made when somebody asks. Threads: thread-safe.
class LazyEndingWords {
 public:
  LazyEndingWords(std::shared_ptr<const TokenTexts> texts, std::vector<base::TokenId> end_ids)
      : texts_(std::move(texts)), end_ids_(std::move(end_ids)) {}
  const std::shared_ptr<const EndingWords>& get();

 private:
  const std::shared_ptr<const TokenTexts> texts_;
  const std::vector<base::TokenId> end_ids_;
  std::once_flag once_;
  std::shared_ptr<const EndingWords> words_;
};

// Immutable; shared by the constraints made of it.
class Compiled {
 public:
  base::Result<std::shared_ptr<policy::Constraint>> constraint() const;
  // The same for an answer of at most so many tokens, the end token included, that is always whole.
  // Errors kInvalidArgument: it is no JSON; its shortest answer that was found is longer: both
  // numbers are named.
  base::Result<std::shared_ptr<policy::Constraint>> closing_constraint(int64_t most_tokens) const;

  // Empty: a whole answer that obeys, given without thinking; else what is wrong with it. Only a
  // schema has a judge of its own; of the others every answer that the grammar lets end is right.
  base::Result<std::string> check(std::string_view answer) const;
  // The same for the arguments of a call. A tool that was not offered is wrong.
  base::Result<std::string> check_call(std::string_view tool, std::string_view arguments) const;

  // What of the schema is not enforced, one line each.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  friend class Compiler;
  base::Result<GuardedWalk> walk() const;
  base::Result<std::vector<base::TokenId>> shortest_answer() const;

  std::shared_ptr<const bridge::Grammar> grammar_;
  std::shared_ptr<const TokenTexts> texts_;
  std::shared_ptr<const GuardShapes> shapes_;  // null: no JSON
  bool thinks_ = false;
  std::shared_ptr<MaskWorker> worker_;
  std::unique_ptr<bridge::Validator> judge_;
  std::shared_ptr<LazyEndingWords> ending_words_;
  // Of the shortest answer; looked for once, when somebody asks.
  mutable std::once_flag shortest_once_;
  mutable std::optional<base::Result<std::vector<base::TokenId>>> shortest_;
  std::vector<std::pair<std::string, bridge::Validator>> tool_judges_;
  std::vector<std::string> notes_;
};

// Threads: thread-safe. What compile gives does not need the compiler any more.
class Compiler {
 public:
  // The tokenizer outlives the compiler and what it compiles. Error: no end id.
  static base::Result<std::unique_ptr<Compiler>> create(const text::Tokenizer& tokenizer,
                                                        Whitespace whitespace);

  // Errors: kInvalidArgument: the description's syntax, or nothing obeys it; kUnsupported: it
  // cannot be enforced exactly. The message names the offender; `where` is a path in a schema, or
  // empty.
  base::Result<std::shared_ptr<const Compiled>> compile(const Description& description);
  // The same for answers that call tools; the error's message names the tool.
  base::Result<std::shared_ptr<const Compiled>> compile(const ToolUse& use);

 private:
  Compiler(std::shared_ptr<const bridge::Vocabulary> vocabulary,
           std::shared_ptr<const TokenTexts> texts, std::vector<base::TokenId> end_ids,
           Whitespace whitespace);

  base::Result<std::shared_ptr<const Compiled>> compile_new(const Description& description) const;
  base::Result<std::shared_ptr<const Compiled>> compile_new(const ToolUse& use) const;
  // From the cache, or made by `make` and kept.
  base::Result<std::shared_ptr<const Compiled>> kept(
      const std::string& named,
      const std::function<base::Result<std::shared_ptr<const Compiled>>()>& make);

  const std::shared_ptr<const bridge::Vocabulary> vocabulary_;
  const std::shared_ptr<const TokenTexts> texts_;
  const std::shared_ptr<LazyEndingWords> ending_words_;
  const Whitespace whitespace_;
  const std::shared_ptr<MaskWorker> worker_;

  std::mutex mutex_;  // of the cache
  struct Entry {
    std::string key;  // digest of the description
    std::shared_ptr<const Compiled> compiled;
  };
  std::list<Entry> cache_;  // the latest used first
};

}  // namespace pawl::grammar
