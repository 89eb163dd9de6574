// SPDX-License-Identifier: Apache-2.0
// Answers that are whole when their tokens are spent: the shortest way to the end against brute
// force, and walks by chance under every budget.
#include "grammar/ending.h"

#include <algorithm>
#include <deque>
#include <random>

#include "grammar/closing_constraint.h"
#include "grammar/compiler.h"
#include "grammar/schema_for_test.h"

namespace pawl::grammar {
namespace {

using base::TokenId;
using Ids = std::vector<TokenId>;

// A vocabulary of a few characters, with some entries of more than one.
struct FewWords {
  FewWords() {
    std::vector<std::string> words;
    for (const char c : std::string_view("{}[]\":,ab015-truenlfs.")) words.emplace_back(1, c);
    for (const char* word :
         {"\"}", "\":", "\":\"", "\",\"", "{\"", "aab", "true", "55", "]}", "},{"}) {
      words.emplace_back(word);
    }
    words.emplace_back();
    end = static_cast<TokenId>(words.size()) - 1;
    texts = std::make_shared<const TokenTexts>(words);
    const Ids ends = {end};
    vocabulary = *bridge::Vocabulary::create(words, ends, {});
    ending = std::make_shared<const EndingWords>(texts, ends);
  }

  GuardedWalk walk(std::string_view schema) const {
    const auto grammar = json_grammar(*base::parse_json(schema), Whitespace::kNone);
    EXPECT_TRUE(grammar.ok()) << schema;
    const auto compiled =
        *bridge::Grammar::compile(vocabulary, bridge::Grammar::Source::kNodes, grammar->text, {});
    return {*compiled->walk(), texts, std::make_shared<const GuardShapes>(grammar->shapes)};
  }

  std::string text(const Ids& ids) const {
    std::string text;
    for (const TokenId id : ids) text += texts->words[static_cast<size_t>(id)];
    return text;
  }

  TokenId end = 0;
  std::shared_ptr<const TokenTexts> texts;
  std::shared_ptr<const bridge::Vocabulary> vocabulary;
  std::shared_ptr<const EndingWords> ending;
};

// Every id is tried at every place, the shorter texts first.
size_t fewest_by_trying(const FewWords& words, GuardedWalk& walk, size_t most) {
  std::deque<Ids> texts = {{}};
  while (!texts.empty()) {
    const Ids ids = std::move(texts.front());
    texts.pop_front();
    for (const TokenId id : ids) EXPECT_TRUE(*walk.accept(id));
    const bool is_whole = walk.is_complete();
    for (TokenId id = 0; !is_whole && ids.size() < most && id < words.end; ++id) {
      if (!*walk.accept(id)) continue;
      EXPECT_TRUE(walk.rollback(1).ok());
      texts.push_back(ids);
      texts.back().push_back(id);
    }
    const auto taken = static_cast<int64_t>(ids.size());
    EXPECT_TRUE(taken == 0 || walk.rollback(taken).ok());
    if (is_whole) return ids.size() + 1;  // and the end
  }
  return 0;
}

TEST(Ending, TheShortestAnswerIsTheOneThatTryingFinds) {
  const FewWords words;
  for (
      const char* schema :
      {R"({"type":"boolean"})", R"({"type":"integer","minimum":50,"maximum":500})",
       R"({"enum":["aab","ab","b0b1"]})", R"({"enum":[true,[[]],{"a":1}]})",
       R"({"type":"string","minLength":4,"maxLength":6,"pattern":"^[ab]*$"})",
       R"({"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":3})",
       R"({"type":"array","items":{"enum":["a","b","aab"]},"minItems":2,"uniqueItems":true})",
       R"({"type":"object","properties":{"a":{"const":"aaaaa"},"b":{"type":"null"}},
               "required":["b"],"additionalProperties":false})",
       R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"array","items":{"type":"boolean"}}},
               "required":["a","b"],"additionalProperties":false})",
       R"({"anyOf":[{"type":"object","properties":{"a":{"const":"a"},"b":{"type":"boolean"}},
                         "required":["a","b"],"additionalProperties":false},
                        {"type":"object","properties":{"a":{"const":"b"}},"required":["a"],
                         "additionalProperties":false}]})",
       R"({"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{
               "a":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}},"required":["a"],
               "additionalProperties":false}}})"}) {
    GuardedWalk walk = words.walk(schema);
    const auto found = find_ending(walk, JsonPlace(), *words.ending, {});
    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_TRUE(found->has_value()) << schema;
    EXPECT_EQ((*found)->size(), fewest_by_trying(words, walk, 18))
        << schema << " " << words.text(**found);
    EXPECT_TRUE(*takes(walk, **found)) << "the walk is where it was";
  }
}

TEST(Ending, FromInsideATextToo) {
  const FewWords words;
  const char* schema =
      R"({"type":"object","properties":{"a":{"type":"array","items":{"enum":["a","ab"]}},
      "b":{"type":"boolean"}},"required":["a","b"],"additionalProperties":false})";
  for (const char* head : {"{", "{\"a", "{\"a\":[", "{\"a\":[\"", "{\"a\":[\"ab", "{\"a\":[\"ab\",",
                           "{\"a\":[\"ab\"],\"b\":f"}) {
    GuardedWalk walk = words.walk(schema);
    JsonPlace place;
    place.push(head);
    for (const char c : std::string_view(head)) {
      ASSERT_TRUE(*walk.accept(words.ending->ids.at(std::string_view(&c, 1))));
    }
    const auto found = find_ending(walk, place, *words.ending, {});
    ASSERT_TRUE(found.ok() && found->has_value()) << head;
    const auto json = base::parse_json(head + words.text(**found));
    ASSERT_TRUE(json.ok()) << head << words.text(**found);
    EXPECT_TRUE(json->find("b")->to_bool().has_value());
    EXPECT_EQ((*found)->size(), fewest_by_trying(words, walk, 18)) << head << words.text(**found);
  }
}

TEST(Ending, WhatIsTooLongIsNotGiven) {
  const FewWords words;
  GuardedWalk walk = words.walk(R"({"enum":["ab"]})");
  const auto shortest = find_ending(walk, JsonPlace(), *words.ending, {});
  ASSERT_TRUE(shortest.ok() && shortest->has_value());
  const auto size = static_cast<int64_t>((*shortest)->size());
  for (const bool takes_any : {false, true}) {
    EXPECT_TRUE(
        find_ending(walk, JsonPlace(), *words.ending, {.most_tokens = size, .takes_any = takes_any})
            ->has_value());
    EXPECT_FALSE(find_ending(walk, JsonPlace(), *words.ending,
                             {.most_tokens = size - 1, .takes_any = takes_any})
                     ->has_value());
  }
}

// -- Budgets

constexpr const char* kSchemas[] = {
    R"({"type":"object"})",
    R"({"type":"object","properties":{"reasoning":{"type":"string"},"score":{"type":"integer",
        "minimum":1,"maximum":5},"sure":{"type":"boolean"}},
        "required":["reasoning","score","sure"],"additionalProperties":false})",
    R"({"type":"object","properties":{"name":{"type":"string"},"tags":{"type":"array","items":
        {"type":"string","minLength":3}},"size":{"anyOf":[{"type":"null"},{"type":"object",
        "properties":{"w":{"type":"number"},"h":{"type":"number"}},"required":["w","h"],
        "additionalProperties":false}]}},"required":["name","tags","size"],
        "additionalProperties":false})",
    R"({"type":"array","minItems":3,"maxItems":9,"items":{"enum":["red","green","bluish"]}})",
    R"({"type":"array","minItems":2,"uniqueItems":true,"items":{"type":"integer"}})",
    R"({"type":"string","pattern":"^[A-Z]{2}-[0-9]{3}$"})",
    R"({"type":"object","properties":{"at":{"type":"string","format":"date-time"},
        "left":{"$ref":"#"},"right":{"$ref":"#"}},"required":["at"],"additionalProperties":false})",
    R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},
        "c":{"type":"string"},"d":{"type":"string"}},"required":["d"],
        "additionalProperties":{"type":"integer"}})",
    R"({"type":"string","minLength":40})",
    R"({"type":"number"})",
};

class Closing : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto file = gguf::open(std::string(PAWL_SOURCE_DIR "/tests/golden/tiny/") + GetParam());
    ASSERT_TRUE(file.ok());
    auto tokenizer = text::Tokenizer::create(std::move(*file));
    ASSERT_TRUE(tokenizer.ok());
    tokenizer_ = std::move(*tokenizer);
    auto compiler = Compiler::create(*tokenizer_, Whitespace::kNone);
    ASSERT_TRUE(compiler.ok());
    compiler_ = std::move(*compiler);
  }

  // As the engine asks, any allowed id by chance. The ids, the end id included.
  Ids chance(policy::Constraint& constraint, uint64_t seed, bool takes_forced) {
    std::mt19937_64 random(seed);
    policy::TokenMask mask(static_cast<int32_t>(tokenizer_->vocab().size()));
    Ids ids;
    const auto take = [&](TokenId id) {
      const auto accepted = constraint.accept(id);
      EXPECT_TRUE(accepted.ok()) << accepted.error().message;
      ids.push_back(id);
      return accepted.ok();
    };
    while (ids.size() < 2000) {
      if (takes_forced) {
        for (const TokenId id : constraint.forced()) {
          if (!take(id)) return ids;
        }
      }
      constraint.prepare_mask();
      const auto filled = constraint.fill_mask(mask);
      EXPECT_TRUE(filled.ok()) << filled.error().message;
      if (!filled.ok()) return ids;
      TokenId id = 0;
      do {
        Ids allowed;
        for (TokenId i = 0; i < mask.vocabulary(); ++i) {
          if (mask.allows(i)) allowed.push_back(i);
        }
        EXPECT_FALSE(allowed.empty());
        if (allowed.empty()) return ids;
        id = allowed[random() % allowed.size()];
      } while (!constraint.permits(id, mask));
      if (!take(id) || tokenizer_->vocab().is_end(id)) return ids;
    }
    return ids;
  }

  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::unique_ptr<Compiler> compiler_;
};

TEST_P(Closing, EveryAnswerIsWholeWithinItsBudget) {
  for (const char* schema : kSchemas) {
    const auto compiled = compiler_->compile({.source = schema});
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    const auto refused = (*compiled)->closing_constraint(1);
    ASSERT_FALSE(refused.ok());
    int64_t shortest = 0;
    for (int64_t budget = 2; shortest == 0 && budget < 100; ++budget) {
      if ((*compiled)->closing_constraint(budget).ok()) shortest = budget;
    }
    ASSERT_NE(shortest, 0) << schema << refused.error().message;
    EXPECT_NE(refused.error().message.find(std::to_string(shortest) + " tokens"), std::string::npos)
        << refused.error().message;
    for (int64_t over = 0; over < 40; over = over < 12 ? over + 1 : over + 9) {
      for (uint64_t seed = 0; seed < 4; ++seed) {
        auto constraint = (*compiled)->closing_constraint(shortest + over);
        ASSERT_TRUE(constraint.ok());
        const Ids ids = chance(**constraint, seed, seed % 2 == 0);
        std::string text;
        for (const TokenId id : ids) tokenizer_->append_piece(id, false, text);
        ASSERT_FALSE(ids.empty());
        EXPECT_LE(static_cast<int64_t>(ids.size()), shortest + over) << text;
        EXPECT_TRUE(tokenizer_->vocab().is_end(ids.back())) << schema << text;
        EXPECT_EQ(*(*compiled)->check(text), "") << schema << text;
      }
    }
  }
}

TEST_P(Closing, WhatIsTakenBackLeavesAWayToTheEnd) {
  const auto compiled = compiler_->compile({.source = kSchemas[1]});
  ASSERT_TRUE(compiled.ok());
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    auto constraint = *(*compiled)->closing_constraint(60);
    const Ids first = chance(*constraint, random(), true);
    const auto back = static_cast<int32_t>(random() % first.size()) + 1;
    constraint->rollback(back);
    const Ids second = chance(*constraint, random(), true);
    Ids whole(first.begin(), first.end() - back);
    whole.insert(whole.end(), second.begin(), second.end());
    std::string text;
    for (const TokenId id : whole) tokenizer_->append_piece(id, false, text);
    EXPECT_LE(whole.size(), 60u);
    EXPECT_EQ(*(*compiled)->check(text), "") << text;
  }
}

TEST_P(Closing, OnlyJsonCanBeClosed) {
  const auto compiled = compiler_->compile({Description::Kind::kRegex, "a+"});
  ASSERT_TRUE(compiled.ok());
  const auto constraint = (*compiled)->closing_constraint(10);
  ASSERT_FALSE(constraint.ok());
  EXPECT_NE(constraint.error().message.find("no JSON"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, Closing, testing::Values("qwen3.gguf", "gemma3.gguf"),
                         [](const auto& param) {
                           const std::string name = param.param;
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace pawl::grammar
