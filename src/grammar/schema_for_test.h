// SPDX-License-Identifier: Apache-2.0
// A schema or another description, compiled over a vocabulary of single bytes: which texts it
// takes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/json.h"
#include "bridge/grammar.h"
#include "grammar/gbnf.h"
#include "grammar/guarded_walk.h"
#include "grammar/json_grammar.h"

namespace pawl::grammar {

inline constexpr base::TokenId kEndOfBytes = 256;

inline const std::shared_ptr<const bridge::Vocabulary>& bytes_vocabulary() {
  static const std::shared_ptr<const bridge::Vocabulary> made = [] {
    std::vector<std::string> words;
    for (int byte = 0; byte < 256; ++byte) words.emplace_back(1, static_cast<char>(byte));
    words.emplace_back("<end>");
    const std::vector<base::TokenId> end_ids = {kEndOfBytes};
    return *bridge::Vocabulary::create(words, end_ids, {});
  }();
  return made;
}

inline const std::shared_ptr<const TokenTexts>& bytes_texts() {
  static const auto made = [] {
    std::vector<std::string> words;
    for (int byte = 0; byte < 256; ++byte) words.emplace_back(1, static_cast<char>(byte));
    words.emplace_back();
    return std::make_shared<const TokenTexts>(std::move(words));
  }();
  return made;
}

// What stands where a grammar would: the reason for which it was refused.
class Compact {
 public:
  static Compact schema(std::string_view text, Whitespace whitespace = Whitespace::kNone) {
    const auto json = base::parse_json(text);
    EXPECT_TRUE(json.ok()) << text;
    Compact made;
    const auto grammar = json_grammar(*json, whitespace);
    if (grammar.ok()) {
      made.notes = grammar->notes;
      made.guarded = std::make_shared<const GuardShapes>(grammar->shapes);
      made.compile(grammar->text);
    } else {
      made.refusal = grammar.error().message;
      made.where = grammar.error().where;
    }
    return made;
  }
  static Compact gbnf(std::string_view text) {
    Compact made;
    const auto grammar = gbnf_grammar(text);
    if (grammar.ok()) made.compile(*grammar);
    if (!grammar.ok()) made.refusal = grammar.error().message;
    return made;
  }

  bool takes(std::string_view text) const {
    EXPECT_EQ(refusal, "");
    if (grammar == nullptr) return false;
    GuardedWalk walk(*grammar->walk(), bytes_texts(), guarded);
    for (const char c : text) {
      const auto accepted = walk.accept(static_cast<unsigned char>(c));
      EXPECT_TRUE(accepted.ok()) << accepted.error().message;
      if (!accepted.ok() || !*accepted) return false;
    }
    return walk.is_complete();
  }
  void expect(std::initializer_list<std::string_view> good,
              std::initializer_list<std::string_view> bad) const {
    for (const std::string_view text : good) EXPECT_TRUE(takes(text)) << text;
    for (const std::string_view text : bad) EXPECT_FALSE(takes(text)) << text;
  }

  std::shared_ptr<const bridge::Grammar> grammar;
  std::shared_ptr<const GuardShapes> guarded;  // null: no JSON
  std::string refusal, where;
  std::vector<std::string> notes;

 private:
  void compile(const std::string& text) {
    auto made =
        bridge::Grammar::compile(bytes_vocabulary(), bridge::Grammar::Source::kNodes, text, {});
    if (made.ok()) grammar = *made;
    if (!made.ok()) refusal = made.error().message;
  }
};

}  // namespace pawl::grammar
