// SPDX-License-Identifier: Apache-2.0
// Grammars over a vocabulary of single bytes: which texts they take, what they force, and that a
// walk can be undone and copied.
#include "bridge/grammar.h"

#include <gtest/gtest.h>

#include "bridge/validator.h"

namespace pawl::bridge {
namespace {

constexpr base::TokenId kEnd = 256;

std::shared_ptr<const Vocabulary> bytes_vocabulary() {
  std::vector<std::string> words;
  for (int byte = 0; byte < 256; ++byte) words.emplace_back(1, static_cast<char>(byte));
  words.emplace_back("<end>");
  const std::vector<base::TokenId> end_ids = {kEnd};
  auto made = Vocabulary::create(words, end_ids, {});
  EXPECT_TRUE(made.ok());
  return *made;
}

std::shared_ptr<const Grammar> compiled(std::string_view nodes) {
  auto made = Grammar::compile(bytes_vocabulary(), Grammar::Source::kNodes, nodes, {});
  EXPECT_TRUE(made.ok()) << made.error().message;
  return made.ok() ? *made : nullptr;
}

bool takes(const Grammar& grammar, std::string_view text) {
  auto walk = grammar.walk();
  for (const char c : text) {
    const auto accepted = walk->accept(static_cast<unsigned char>(c));
    EXPECT_TRUE(accepted.ok());
    if (!*accepted) return false;
  }
  return walk->is_complete();
}

TEST(Grammar, ALanguageAndItsComplementShareNoText) {
  const auto grammar =
      compiled(R"({"skip":null,"start":0,"nodes":[{"lexeme":{"quote":{"and":[{"regex":"[a-c]*"},)"
               R"({"not":{"regex":"[a-c]*bb[a-c]*"}}]}}}]})");
  EXPECT_TRUE(takes(*grammar, "\"abab\""));
  EXPECT_FALSE(takes(*grammar, "\"abba\""));
  EXPECT_FALSE(takes(*grammar, "\"aba"));
}

TEST(Grammar, RepetitionsAreCountedForEveryNumber) {
  for (int most = 0; most < 20; ++most) {
    for (int least = 0; least <= most; ++least) {
      const auto grammar =
          compiled(R"({"skip":null,"start":1,"nodes":[{"lexeme":{"literal":"x"}},{"repeat":[0,)" +
                   std::to_string(least) + "," + std::to_string(most) + "]}]}");
      for (int count = 0; count < 22; ++count) {
        EXPECT_EQ(takes(*grammar, std::string(static_cast<size_t>(count), 'x')),
                  count >= least && count <= most)
            << count << " of " << least << " to " << most;
      }
    }
  }
}

TEST(Grammar, WhatIsForcedIsTheOnlyWayOn) {
  const auto grammar = compiled(
      R"({"skip":null,"start":2,"nodes":[{"lexeme":{"literal":"abc"}},{"lexeme":{"regex":"[xy]"}},)"
      R"({"seq":[0,1]}]})");
  auto walk = grammar->walk();
  EXPECT_EQ(walk->forced(), (std::vector<base::TokenId>{'a', 'b', 'c'}));
  for (const char c : std::string_view("abc")) EXPECT_TRUE(*walk->accept(c));
  EXPECT_TRUE(walk->forced().empty());
  std::vector<uint64_t> mask(5);
  ASSERT_TRUE(walk->fill_mask(mask).ok());
  EXPECT_EQ(mask, (std::vector<uint64_t>{0, 1ull << ('x' - 64) | 1ull << ('y' - 64), 0, 0, 0}));
}

TEST(Grammar, TheEndIsAllowedWhenTheTextIsWholeAndOnlyThen) {
  const auto grammar = compiled(R"({"skip":null,"start":0,"nodes":[{"lexeme":{"literal":"ok"}}]})");
  auto walk = grammar->walk();
  EXPECT_FALSE(*walk->accept(kEnd));
  EXPECT_TRUE(*walk->accept('o'));
  EXPECT_FALSE(*walk->accept(kEnd));
  EXPECT_TRUE(*walk->accept('k'));
  EXPECT_TRUE(walk->is_complete());
  std::vector<uint64_t> mask(5);
  ASSERT_TRUE(walk->fill_mask(mask).ok());
  EXPECT_EQ(mask, (std::vector<uint64_t>{0, 0, 0, 0, 1}));
  EXPECT_TRUE(*walk->accept(kEnd));
  EXPECT_FALSE(*walk->accept(kEnd));
  ASSERT_TRUE(walk->rollback(2).ok());
  EXPECT_FALSE(walk->is_complete());
  EXPECT_TRUE(*walk->accept('k'));
}

TEST(Grammar, ACopyGoesItsOwnWay) {
  const auto grammar =
      compiled(R"({"skip":null,"start":0,"nodes":[{"lexeme":{"regex":"a(b|c)d"}}]})");
  auto walk = grammar->walk();
  ASSERT_TRUE(*walk->accept('a'));
  auto copy = walk->copy();
  EXPECT_TRUE(*walk->accept('b'));
  EXPECT_TRUE(*copy->accept('c'));
  EXPECT_FALSE(*walk->accept('c'));
  EXPECT_TRUE(*walk->accept('d'));
  EXPECT_TRUE(walk->is_complete());
  EXPECT_FALSE(copy->is_complete());
}

TEST(Grammar, WhatIsWrongWithAFormIsAnError) {
  for (const char* form : {"", "{}", R"({"skip":null,"start":7,"nodes":[]})",
                           R"({"skip":null,"start":0,"nodes":[{"lexeme":{"regex":"("}}]})",
                           R"({"skip":null,"start":0,"nodes":[{"what":1}]})"}) {
    const auto made = Grammar::compile(bytes_vocabulary(), Grammar::Source::kNodes, form, {});
    EXPECT_FALSE(made.ok()) << form;
  }
}

TEST(Language, EmptinessIsTold) {
  EXPECT_EQ(*language_is_empty(R"({"and":[{"regex":"a+"},{"regex":"b+"}]})", 1000), true);
  EXPECT_EQ(*language_is_empty(R"({"and":[{"regex":"a+"},{"regex":"[ab]{3}"}]})", 1000), false);
}

TEST(Validator, SaysWhatIsWrongAndWhere) {
  const auto judge =
      Validator::compile(R"({"type":"object","properties":{"n":{"type":"integer"}}})", 2020, true);
  ASSERT_TRUE(judge.ok());
  EXPECT_EQ(*judge->check(R"({"n":3})"), "");
  EXPECT_TRUE(judge->check(R"({"n":"3"})")->starts_with("/n: "));
  EXPECT_FALSE(judge->check("{")->empty());
  EXPECT_FALSE(Validator::compile(R"({"type":7})", 2020, true).ok());
}

}  // namespace
}  // namespace pawl::bridge
