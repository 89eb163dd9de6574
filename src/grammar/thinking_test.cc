// SPDX-License-Identifier: Apache-2.0
// What was asked for behind a model's thinking.
#include "grammar/thinking.h"

#include "grammar/schema_for_test.h"

namespace pawl::grammar {
namespace {

// Over single bytes, behind thinking.
GuardedWalk thinking_walk(std::string_view schema) {
  const auto grammar = json_grammar(*base::parse_json(schema), Whitespace::kNone);
  EXPECT_TRUE(grammar.ok());
  const auto text = behind_thinking(grammar->text, kThinking.close);
  EXPECT_TRUE(text.ok());
  const auto compiled =
      bridge::Grammar::compile(bytes_vocabulary(), bridge::Grammar::Source::kNodes, *text, {});
  EXPECT_TRUE(compiled.ok()) << compiled.error().message;
  return {*(*compiled)->walk(), bytes_texts(), std::make_shared<const GuardShapes>(grammar->shapes),
          kThinking.close};
}

bool takes_text(std::string_view schema, std::string_view text) {
  GuardedWalk walk = thinking_walk(schema);
  for (const char c : text) {
    if (!*walk.accept(static_cast<unsigned char>(c))) return false;
  }
  return walk.is_complete();
}

TEST(Thinking, S115_TheGrammarBeginsBehindTheMark) {
  const char* schema =
      R"({"type":"object","properties":{"ok":{"type":"boolean"}},
      "required":["ok"],"additionalProperties":false})";
  for (const char* good :
       {"</think>{\"ok\":true}", "hm </thin <think> {\"ok\":</think>{\"ok\":false}",
        "a\n</think>\n\n{\"ok\":true}", "…</think>\n{\"ok\":true}"}) {
    EXPECT_TRUE(takes_text(schema, good)) << good;
  }
  for (const char* bad : {"{\"ok\":true}", "</think>", "</think>{\"ok\":1}",
                          "hm</think> so {\"ok\":true}", "</think></think>{\"ok\":true}",
                          "</think>\n\n\n{\"ok\":true}", "</think>{\"ok\":true}</think>", ""}) {
    EXPECT_FALSE(takes_text(schema, bad)) << bad;
  }
}

// The thinking looks like JSON that repeats itself; only behind it repetition
// counts.
TEST(Thinking, S115_WhatMustNotComeTwiceIsLookedForInTheAnswerOnly) {
  const char* unique = R"({"type":"array","items":{"type":"integer"},"uniqueItems":true})";
  EXPECT_TRUE(takes_text(unique, "[1,1] {\"</think>[1,2]"));
  EXPECT_FALSE(takes_text(unique, "[1,2]</think>[1,1]"));
  const char* open = R"({"type":"object"})";
  EXPECT_TRUE(takes_text(open, "\"a\"</think>{\"a\":1,\"b\":2}"));
  EXPECT_FALSE(takes_text(open, "</think>{\"a\":1,\"a\":2}"));
}

TEST(Thinking, S112_WhatIsTakenBackAcrossTheMarkLeavesNoTrace) {
  GuardedWalk walk =
      thinking_walk(R"({"type":"array","items":{"type":"integer"},"uniqueItems":true})");
  const std::string_view text = "[7]</think>[7,8";
  for (size_t keep = 0; keep <= text.size(); ++keep) {
    for (const char c : text) ASSERT_TRUE(*walk.accept(static_cast<unsigned char>(c))) << keep;
    ASSERT_TRUE(walk.rollback(static_cast<int64_t>(text.size() - keep)).ok() ||
                keep == text.size());
    for (const char c : text.substr(keep)) {
      ASSERT_TRUE(*walk.accept(static_cast<unsigned char>(c))) << keep;
    }
    EXPECT_TRUE(*walk.accept(',')) << keep;
    EXPECT_TRUE(*walk.accept('7')) << "70 would be another item";
    EXPECT_FALSE(*walk.accept(']')) << "7 was there, behind the mark";
    ASSERT_TRUE(walk.rollback(2).ok());
    ASSERT_TRUE(walk.rollback(static_cast<int64_t>(text.size())).ok());
  }
}

TEST(Thinking, S115_TheEndIsSeenWhereverTokensAreCut) {
  const std::string_view text = "so</thin</think>{\"a\"";
  for (size_t a = 0; a <= text.size(); ++a) {
    for (size_t b = a; b <= text.size(); ++b) {
      ThinkingEnd end{std::string(kThinking.close)};
      std::string behind;
      for (const auto piece : {text.substr(0, a), text.substr(a, b - a), text.substr(b)}) {
        behind += end.behind(piece);
        end.push(piece);
      }
      EXPECT_EQ(behind, "{\"a\"") << a << " " << b;
      EXPECT_TRUE(end.is_behind());
      end.pop(3);
      EXPECT_FALSE(end.is_behind());
    }
  }
}

TEST(Thinking, S115_TheAnswerIsWhatIsBehind) {
  EXPECT_EQ(answer_behind_thinking("a</think>\n\n{}"), "{}");
  EXPECT_EQ(answer_behind_thinking("a</think>{}\n"), "{}\n");
  EXPECT_EQ(answer_behind_thinking("a</thin"), "");
  EXPECT_EQ(answer_behind_thinking("</think>"), "");
}

}  // namespace
}  // namespace pawl::grammar
