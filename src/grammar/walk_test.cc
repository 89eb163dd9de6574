// SPDX-License-Identifier: Apache-2.0
// Walks through grammars: what masks say is what is accepted, walks end, and what is taken back
// leaves no trace. The expectations are brute force: each id is tried.
#include <time.h>

#include <algorithm>
#include <random>

#include "grammar/compiler.h"
#include "grammar/schema_for_test.h"
#include "support/golden.h"

namespace pawl::grammar {
namespace {

using base::TokenId;
constexpr size_t kMaskWords = 5;  // of single bytes and an end

GuardedWalk walk_of(const Compact& schema) {
  return {*schema.grammar->walk(), bytes_texts(), schema.guarded};
}

std::vector<TokenId> allowed(GuardedWalk& walk, size_t words = kMaskWords) {
  std::vector<uint64_t> mask(words);
  EXPECT_TRUE(walk.fill_mask(mask).ok());
  std::vector<TokenId> ids;
  for (size_t i = 0; i < words * 64; ++i) {
    if ((mask[i / 64] >> (i % 64)) & 1) ids.push_back(static_cast<TokenId>(i));
  }
  return ids;
}

std::vector<TokenId> allowed_by_trying(GuardedWalk& walk) {
  std::vector<TokenId> ids;
  for (TokenId id = 0; id <= kEndOfBytes; ++id) {
    const auto accepted = walk.accept(id);
    EXPECT_TRUE(accepted.ok());
    if (!*accepted) continue;
    ids.push_back(id);
    EXPECT_TRUE(walk.rollback(1).ok());
  }
  return ids;
}

// Any allowed byte by chance, closing ones more often; the text when it ended.
std::optional<std::string> random_text(const Compact& schema, uint64_t seed, size_t most_bytes) {
  std::mt19937_64 random(seed);
  GuardedWalk walk = walk_of(schema);
  std::string text;
  while (text.size() < most_bytes) {
    const auto ids = allowed(walk);
    EXPECT_FALSE(ids.empty()) << text;
    if (ids.empty()) return std::nullopt;
    TokenId id = ids[random() % ids.size()];
    const bool has_quote = std::ranges::find(ids, '"') != ids.end();
    if (random() % 3 == 0) id = has_quote ? '"' : ids.back();
    EXPECT_TRUE(*walk.accept(id));
    if (id == kEndOfBytes) return text;
    text += static_cast<char>(id);
  }
  return std::nullopt;
}

TEST(Walk, S078_NoCommaBeforeTheFirstItem) {
  const Compact schema = Compact::schema(
      R"({"type":"array","items":{"type":"object","properties":{"t":{"type":"string"}},
          "required":["t"]},"minItems":1})");
  schema.expect({R"([{"t":"a"}])", R"([{"t":"a"},{"t":""}])"},
                {R"([,{"t":"a"}])", R"([{"t":"a"},])", "[]", R"([{"t":"a"},,{"t":"a"}])"});
  int ended = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto text = random_text(schema, seed, 800);
    if (!text) continue;
    ++ended;
    EXPECT_TRUE(base::parse_json(*text).ok()) << *text;
  }
  EXPECT_GT(ended, 200);
}

TEST(Walk, S099_AModelWithOneWishComesToAnEnd) {
  for (const Whitespace whitespace : {Whitespace::kNone, Whitespace::kAny}) {
    const Compact schema = Compact::schema(
        R"({"type":"array","items":{"type":"number"},"minItems":1,"maxItems":3})", whitespace);
    for (const char wish : {' ', '9', ',', '0', '\n'}) {
      GuardedWalk walk = walk_of(schema);
      size_t bytes = 0;
      for (;; ++bytes) {
        ASSERT_LE(bytes, 3u * 130 + 2 + 8 * 20) << wish;
        const auto ids = allowed(walk);
        ASSERT_FALSE(ids.empty());
        const bool has_wish = std::ranges::find(ids, wish) != ids.end();
        const TokenId id = has_wish ? wish : ids.back();
        ASSERT_TRUE(*walk.accept(id));
        if (id == kEndOfBytes) break;
      }
    }
  }
}

TEST(Walk, S101_TheMaskIsWhatIsAcceptedBesideSeparators) {
  const Compact schema = Compact::schema(
      R"({"type":"object","properties":{"zip":{"type":"integer"},"city":{"type":"string"}},
          "required":["city"],"additionalProperties":false})",
      Whitespace::kAny);
  GuardedWalk at_key = walk_of(schema);
  for (const char c : std::string_view("{ \"city")) ASSERT_TRUE(*at_key.accept(c));
  EXPECT_EQ(allowed(at_key), std::vector<TokenId>{'"'});
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    GuardedWalk walk = walk_of(schema);
    for (int step = 0; step < 40; ++step) {
      const auto ids = allowed(walk);
      ASSERT_EQ(ids, allowed_by_trying(walk)) << seed << " " << step;
      const TokenId id = ids[random() % ids.size()];
      ASSERT_TRUE(*walk.accept(id));
      if (id == kEndOfBytes) break;
    }
  }
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median_mask_seconds(const std::string& source) {
  const Compact schema = Compact::schema(source);
  GuardedWalk walk = walk_of(schema);
  EXPECT_TRUE(*walk.accept('"'));
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    EXPECT_TRUE(*walk.accept('x'));
    const double start = thread_seconds();
    allowed(walk);
    times.push_back(thread_seconds() - start);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

TEST(Walk, S104_ALargeBoundCostsNoMore) {
  double most = 0, least = 1;
  for (int attempt = 0; attempt < 8; ++attempt) {
    most = 0;
    least = 1;
    for (const char* bound : {R"("maxLength":10)", R"("maxLength":129)", R"("maxLength":5000)",
                              R"("maxLength":100000)", R"("minLength":300)"}) {
      const double time = median_mask_seconds(std::string(R"({"type":"string",)") + bound + "}");
      most = std::max(most, time);
      least = std::min(least, time);
    }
    if (most < 2 * least) return;
  }
  FAIL() << least << " to " << most << " s";
}

// Single bytes and `ends` ids that end a text.
std::shared_ptr<const bridge::Vocabulary> vocabulary_with_ends(size_t ends) {
  std::vector<std::string> words;
  for (int byte = 0; byte < 256; ++byte) words.emplace_back(1, static_cast<char>(byte));
  std::vector<TokenId> end_ids;
  for (size_t i = 0; i < ends; ++i) {
    end_ids.push_back(static_cast<TokenId>(words.size()));
    words.emplace_back("]}");
  }
  return *bridge::Vocabulary::create(words, end_ids, {});
}

TEST(Walk, S107_EachEndIsAllowedWhereTheTextIsWhole) {
  const auto text = json_grammar(*base::parse_json(R"({"type":"object","properties":{"a":
      {"const":1}},"required":["a"],"additionalProperties":false})"),
                                 Whitespace::kNone);
  ASSERT_TRUE(text.ok());
  const auto grammar = bridge::Grammar::compile(vocabulary_with_ends(2),
                                                bridge::Grammar::Source::kNodes, text->text, {});
  ASSERT_TRUE(grammar.ok());
  for (const TokenId end : {256, 257}) {
    auto walk = (*grammar)->walk();
    std::vector<uint64_t> mask(kMaskWords);
    const std::string_view whole = R"({"a":1})";
    for (size_t i = 0; i <= whole.size(); ++i) {
      const bool is_whole = i == whole.size();
      ASSERT_TRUE(walk->fill_mask(mask).ok());
      EXPECT_EQ((mask[4] & 3) == 3, is_whole) << i;
      EXPECT_EQ(walk->is_complete(), is_whole);
      const auto ended = walk->accept(end);
      ASSERT_TRUE(ended.ok());
      EXPECT_EQ(*ended, is_whole) << i;
      if (!is_whole) {
        ASSERT_TRUE(*walk->accept(whole[i]));
      }
    }
    EXPECT_FALSE(*walk->accept(end));
  }
}

TEST(Walk, S108_S109_ControlAndUnusedEntriesAreNoText) {
  const auto path = tests::golden_path("tiny/gemma3.gguf");
  if (!path) GTEST_SKIP() << "missing: golden/tiny/gemma3.gguf";
  auto file = gguf::open(*path);
  ASSERT_TRUE(file.ok());
  const auto tokenizer = text::Tokenizer::create(std::move(*file));
  ASSERT_TRUE(tokenizer.ok());
  const text::Vocab& vocab = (*tokenizer)->vocab();
  const auto compiler = Compiler::create(**tokenizer, Whitespace::kNone);
  ASSERT_TRUE(compiler.ok());
  const auto compiled = (*compiler)->compile({.source = R"({"type":"array","maxItems":3,
      "items":{"type":"string","maxLength":9}})"});
  ASSERT_TRUE(compiled.ok());
  std::mt19937_64 random(1);
  for (int run = 0; run < 20; ++run) {
    const auto constraint = (*compiled)->constraint();
    ASSERT_TRUE(constraint.ok());
    policy::TokenMask mask(static_cast<int32_t>(vocab.size()));
    for (bool is_over = false; !is_over;) {
      ASSERT_TRUE((*constraint)->fill_mask(mask).ok());
      std::vector<TokenId> ids;
      for (TokenId id = 0; id < mask.vocabulary(); ++id) {
        if (!mask.allows(id)) continue;
        ids.push_back(id);
        const auto type = vocab.type(id);
        const bool is_text = type == text::TokenType::kNormal || type == text::TokenType::kByte ||
                             type == text::TokenType::kUserDefined;
        ASSERT_TRUE(vocab.is_end(id) ? (*constraint)->is_complete() : is_text) << id;
      }
      ASSERT_FALSE(ids.empty());
      const TokenId id = ids[random() % ids.size()];
      ASSERT_TRUE((*constraint)->accept(id).ok());
      is_over = vocab.is_end(id);
    }
  }
}

TEST(Walk, S112_WhatIsTakenBackLeavesNoTrace) {
  const Compact schema = Compact::schema(
      R"({"type":"array","items":{"type":["boolean","null","object","string"]},
          "uniqueItems":true})");
  std::mt19937_64 random(7);
  GuardedWalk walks[2] = {walk_of(schema), walk_of(schema)};  // in turns
  std::vector<TokenId> taken[2];
  for (int program = 0; program < 2000; ++program) {
    const size_t which = random() % 2;
    GuardedWalk& walk = walks[which];
    std::vector<TokenId>& ids = taken[which];
    const size_t back = random() % 3 == 0 ? random() % (ids.size() + 1) : 0;
    ASSERT_TRUE(walk.rollback(static_cast<int64_t>(back)).ok());
    ids.resize(ids.size() - back);
    for (int ahead = static_cast<int>(random() % 6); ahead > 0 && ids.size() < 60; --ahead) {
      const auto now = allowed(walk);
      ASSERT_FALSE(now.empty());
      const TokenId id = now[random() % now.size()];
      if (id == kEndOfBytes) break;
      ASSERT_TRUE(*walk.accept(id));
      ids.push_back(id);
    }
    if (program % 10 != 0) continue;
    GuardedWalk fresh = walk_of(schema);
    for (const TokenId id : ids) ASSERT_TRUE(*fresh.accept(id));
    ASSERT_EQ(allowed(walk), allowed(fresh)) << program;
    ASSERT_EQ(walk.is_complete(), fresh.is_complete());
  }
}

TEST(Walk, S113_TheLastIdOfEverySize) {
  for (const size_t size : {31u, 32u, 33u, 63u, 64u, 65u, 1000u, 1023u}) {
    std::vector<std::string> words = {"<end>"};
    for (size_t i = 1; i < size; ++i) words.push_back("w" + std::to_string(10000 + i));
    const std::vector<TokenId> end_ids = {0};
    const auto vocabulary = *bridge::Vocabulary::create(words, end_ids, {});
    for (const size_t only : {size - 1, size - 2}) {
      const auto grammar = bridge::Grammar::compile(
          vocabulary, bridge::Grammar::Source::kNodes,
          R"({"skip":null,"start":0,"nodes":[{"lexeme":{"literal":")" + words[only] + "\"}}]}", {});
      ASSERT_TRUE(grammar.ok());
      auto walk = (*grammar)->walk();
      policy::TokenMask mask(static_cast<int32_t>(size));
      ASSERT_TRUE(walk->fill_mask(mask.words()).ok());
      EXPECT_EQ(mask.allowed_count(), 1) << size;
      EXPECT_TRUE(mask.allows(static_cast<TokenId>(only))) << size;
      EXPECT_FALSE(*walk->accept(static_cast<TokenId>(size)));
      EXPECT_TRUE(*walk->accept(static_cast<TokenId>(only)));
    }
  }
}

}  // namespace
}  // namespace pawl::grammar
