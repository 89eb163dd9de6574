// SPDX-License-Identifier: Apache-2.0
#include "grammar/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/digest.h"
#include "grammar/closing_constraint.h"
#include "grammar/gbnf.h"
#include "grammar/thinking.h"
#include "grammar/walk_constraint.h"
#include "schema/pattern.h"

namespace pawl::grammar {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;
using schema::Language;

namespace {

constexpr size_t kKept = 128;
constexpr size_t kMaxSourceBytes = size_t{2} << 20;

// What each id appends to a text. Control and unused entries are never part of one.
std::vector<std::string> words_of(const text::Tokenizer& tokenizer) {
  const text::Vocab& vocab = tokenizer.vocab();
  std::vector<std::string> words(vocab.size());
  for (size_t i = 0; i < words.size(); ++i) {
    const auto id = static_cast<base::TokenId>(i);
    const text::TokenType type = vocab.type(id);
    const bool has_text = type == text::TokenType::kNormal || type == text::TokenType::kByte ||
                          type == text::TokenType::kUserDefined;
    if (has_text) tokenizer.append_piece(id, false, words[i]);
  }
  return words;
}

Result<Json> parsed(const Description& description) {
  auto json = base::parse_json(description.source, {.depth = 96, .bytes = kMaxSourceBytes});
  if (!json.ok()) return Error{ErrorCode::kInvalidArgument, json.error().message, ""};
  return json;
}

Result<std::string> text_of_language(const Language& language) {
  Form form;
  CachedOracle oracle;
  const FormNode node = form.lexeme(language);
  auto text = form.text(node, {}, oracle);
  if (!text.ok() && text.error().code == ErrorCode::kInvalidArgument) {
    return Error{ErrorCode::kInvalidArgument, "no text matches", ""};
  }
  return text;
}

Result<std::string> text_of_choice(const Description& description) {
  PAWL_TRY(const Json list, parsed(description));
  std::vector<std::string> texts;
  if (list.as_array() != nullptr) {
    for (const Json& one : *list.as_array()) {
      if (one.as_string() == nullptr) {
        return Error{ErrorCode::kInvalidArgument, "is no array of strings", ""};
      }
      texts.push_back(*one.as_string());
    }
  }
  if (texts.empty() || std::ranges::any_of(texts, [](const auto& text) { return text.empty(); })) {
    return Error{ErrorCode::kInvalidArgument, "is no array of strings that are not empty", ""};
  }
  return text_of_language(Language::any_of_literals(texts));
}

}  // namespace

const std::shared_ptr<const EndingWords>& LazyEndingWords::get() {
  std::call_once(once_, [this] { words_ = std::make_shared<const EndingWords>(texts_, end_ids_); });
  return words_;
}

Result<GuardedWalk> Compiled::walk() const {
  PAWL_TRY(bridge::Walk walk, grammar_->walk());
  return GuardedWalk(std::move(walk), texts_, shapes_, thinks_ ? kThinking.close : "");
}

Result<std::shared_ptr<policy::Constraint>> Compiled::constraint() const {
  PAWL_TRY(GuardedWalk made, walk());
  return std::shared_ptr<policy::Constraint>(
      std::make_shared<WalkConstraint>(std::move(made), worker_));
}

Result<std::vector<base::TokenId>> Compiled::shortest_answer() const {
  std::call_once(shortest_once_, [this] {
    const auto look = [this]() -> Result<std::vector<base::TokenId>> {
      PAWL_TRY(GuardedWalk made, walk());
      PAWL_TRY(auto ids, find_ending(made, JsonPlace(), *ending_words_->get(), {}));
      if (ids) return std::move(*ids);
      return Error{ErrorCode::kUnsupported, "no shortest answer was found", ""};
    };
    shortest_ = look();
  });
  return *shortest_;
}

Result<std::shared_ptr<policy::Constraint>> Compiled::closing_constraint(
    int64_t most_tokens) const {
  if (shapes_ == nullptr) return Error{ErrorCode::kInvalidArgument, "the answer is no JSON", ""};
  if (thinks_) {
    return Error{ErrorCode::kUnsupported,
                 "the prompt opens the model's thinking, which nothing ends in time: switch it off",
                 ""};
  }
  PAWL_TRY(std::vector<base::TokenId> ending, shortest_answer());
  if (static_cast<int64_t>(ending.size()) > most_tokens) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the shortest answer that was found has {} tokens with the end token, "
                             "{} are allowed",
                             ending.size(), most_tokens),
                 ""};
  }
  PAWL_TRY(GuardedWalk look, walk());
  PAWL_TRY(GuardedWalk masks, walk());
  return std::shared_ptr<policy::Constraint>(std::make_shared<ClosingConstraint>(
      std::move(look), std::make_unique<WalkConstraint>(std::move(masks), worker_),
      ending_words_->get(), std::move(ending), most_tokens));
}

Result<std::string> Compiled::check(std::string_view answer) const {
  if (judge_ == nullptr) return std::string();
  return judge_->check(answer);
}

Result<std::string> Compiled::check_call(std::string_view tool, std::string_view arguments) const {
  for (const auto& [name, judge] : tool_judges_) {
    if (name == tool) return judge.check(arguments);
  }
  return std::string("the tool was not offered");
}

Compiler::Compiler(std::shared_ptr<const bridge::Vocabulary> vocabulary,
                   std::shared_ptr<const TokenTexts> texts, std::vector<base::TokenId> end_ids,
                   Whitespace whitespace)
    : vocabulary_(std::move(vocabulary)),
      texts_(std::move(texts)),
      ending_words_(std::make_shared<LazyEndingWords>(texts_, std::move(end_ids))),
      whitespace_(whitespace),
      worker_(std::make_shared<MaskWorker>()) {}

Result<std::unique_ptr<Compiler>> Compiler::create(const text::Tokenizer& tokenizer,
                                                   Whitespace whitespace) {
  const auto tokenize = [&tokenizer](std::string_view text) {
    auto ids = tokenizer.encode(text, {.add_bos = false, .parse_special = false});
    return ids.ok() ? std::move(*ids) : std::vector<base::TokenId>();
  };
  const auto texts = std::make_shared<const TokenTexts>(words_of(tokenizer));
  const auto end_ids = tokenizer.vocab().end_ids();
  PAWL_TRY(auto vocabulary, bridge::Vocabulary::create(texts->words, end_ids, tokenize));
  return std::unique_ptr<Compiler>(
      new Compiler(std::move(vocabulary), texts, {end_ids.begin(), end_ids.end()}, whitespace));
}

Result<std::shared_ptr<const Compiled>> Compiler::compile(const Description& description) {
  if (description.source.size() > kMaxSourceBytes) {
    return Error{ErrorCode::kInvalidArgument,
                 "has " + std::to_string(description.source.size()) + " bytes, at most " +
                     std::to_string(kMaxSourceBytes) + " are allowed",
                 ""};
  }
  return kept(fmt::format("{} {}\n", static_cast<int>(description.kind), description.thinks) +
                  description.source,
              [&] { return compile_new(description); });
}

Result<std::shared_ptr<const Compiled>> Compiler::compile(const ToolUse& use) {
  std::string named = fmt::format("tools {} {} {} {}", use.style->name, use.must_call,
                                  use.may_call_many, use.thinks);
  for (const Tool& tool : use.tools) named += "\n" + tool.name + " " + tool.parameters.dump();
  return kept(named, [&] { return compile_new(use); });
}

Result<std::shared_ptr<const Compiled>> Compiler::kept(
    const std::string& named,
    const std::function<Result<std::shared_ptr<const Compiled>>()>& make) {
  const std::string key = base::sha256_hex(std::as_bytes(std::span(named)));
  {
    const std::scoped_lock lock(mutex_);
    const auto known = std::ranges::find(cache_, key, &Entry::key);
    if (known != cache_.end()) {
      cache_.splice(cache_.begin(), cache_, known);
      return known->compiled;
    }
  }
  PAWL_TRY(auto compiled, make());
  const std::scoped_lock lock(mutex_);
  cache_.push_front({key, compiled});
  if (cache_.size() > kKept) cache_.pop_back();
  return compiled;
}

Result<std::shared_ptr<const Compiled>> Compiler::compile_new(const ToolUse& use) const {
  const auto made = std::make_shared<Compiled>();
  PAWL_TRY(ToolGrammarText grammar, tool_grammar(use, whitespace_));
  if (use.thinks) {
    PAWL_TRY(grammar.text, behind_thinking(grammar.text, kThinking.close));
  }
  PAWL_TRY(made->grammar_, bridge::Grammar::compile(vocabulary_, bridge::Grammar::Source::kNodes,
                                                    grammar.text, {}));
  made->notes_ = std::move(grammar.notes);
  made->tool_judges_ = std::move(grammar.judges);
  made->texts_ = texts_;
  made->ending_words_ = ending_words_;
  made->worker_ = worker_;
  return std::shared_ptr<const Compiled>(made);
}

Result<std::shared_ptr<const Compiled>> Compiler::compile_new(
    const Description& description) const {
  using Kind = Description::Kind;
  const auto made = std::make_shared<Compiled>();
  std::string text;
  switch (description.kind) {
    case Kind::kJsonSchema:
    case Kind::kJsonObject: {
      Json schema = any_object_schema();
      if (description.kind == Kind::kJsonSchema) {
        PAWL_TRY(schema, parsed(description));
      }
      PAWL_TRY(JsonGrammarText grammar, json_grammar(schema, whitespace_));
      PAWL_TRY(bridge::Validator judge,
               bridge::Validator::compile(schema.dump(), grammar.draft, true));
      text = std::move(grammar.text);
      made->notes_ = std::move(grammar.notes);
      made->shapes_ = std::make_shared<const GuardShapes>(std::move(grammar.shapes));
      made->judge_ = std::make_unique<bridge::Validator>(std::move(judge));
      break;
    }
    case Kind::kRegex: {
      PAWL_TRY(const Language language, schema::whole_text_language(description.source));
      PAWL_TRY(text, text_of_language(language));
      break;
    }
    case Kind::kChoice: {
      PAWL_TRY(text, text_of_choice(description));
      break;
    }
    case Kind::kGbnf: {
      PAWL_TRY(text, gbnf_grammar(description.source));
      break;
    }
    case Kind::kLark:
      text = description.source;
      break;
  }
  if (description.thinks && description.kind == Kind::kLark) {
    return Error{
        ErrorCode::kUnsupported,
        "Lark behind a model's thinking is not supported: switch thinking off, or give GBNF", ""};
  }
  if (description.thinks) {
    PAWL_TRY(text, behind_thinking(text, kThinking.close));
    made->thinks_ = true;
  }
  const auto source = description.kind == Kind::kLark ? bridge::Grammar::Source::kLark
                                                      : bridge::Grammar::Source::kNodes;
  PAWL_TRY(made->grammar_, bridge::Grammar::compile(vocabulary_, source, text, {}));
  made->texts_ = texts_;
  made->ending_words_ = ending_words_;
  made->worker_ = worker_;
  return std::shared_ptr<const Compiled>(made);
}

}  // namespace pawl::grammar
