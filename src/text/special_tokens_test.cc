// SPDX-License-Identifier: Apache-2.0
#include "text/special_tokens.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace pawl::text {
namespace {

// The rule as the reference states it: for each token, longest first, take every occurrence, from
// left to right, in the text that is still free.
std::vector<TextPiece> split_slowly(std::vector<std::string> tokens, const std::string& text) {
  std::vector<size_t> order(tokens.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tokens[a].size() > tokens[b].size(); });
  std::vector<TextPiece> pieces;
  if (!text.empty()) pieces.push_back({0, static_cast<uint32_t>(text.size()), kNoToken});
  for (size_t index : order) {
    const std::string& token = tokens[index];
    std::vector<TextPiece> next;
    for (const TextPiece& piece : pieces) {
      if (piece.token != kNoToken) {
        next.push_back(piece);
        continue;
      }
      uint32_t done = piece.begin;
      for (size_t at = text.find(token, done);
           at + token.size() <= piece.end && at != std::string::npos; at = text.find(token, done)) {
        const uint32_t begin = static_cast<uint32_t>(at);
        if (begin > done) next.push_back({done, begin, kNoToken});
        done = begin + static_cast<uint32_t>(token.size());
        next.push_back({begin, done, static_cast<TokenId>(index)});
      }
      if (done < piece.end) next.push_back({done, piece.end, kNoToken});
    }
    pieces = next;
  }
  return pieces;
}

SpecialTokens make(const std::vector<std::string>& tokens) {
  std::vector<SpecialTokens::Entry> entries;
  for (size_t i = 0; i < tokens.size(); ++i)
    entries.push_back({tokens[i], static_cast<TokenId>(i)});
  SpecialTokens special;
  special.add_all(entries);
  return special;
}

std::string show(const std::vector<TextPiece>& pieces) {
  std::string text;
  for (const TextPiece& piece : pieces) {
    text += std::to_string(piece.begin) + "-" + std::to_string(piece.end) + ":" +
            std::to_string(piece.token) + " ";
  }
  return text;
}

TEST(SpecialTokens, LongerOnesWinEvenOverAnEarlierOverlap) {
  const SpecialTokens special = make({"abc", "cdef", "b"});
  EXPECT_EQ(show(special.split("abcdef")), "0-1:-1 1-2:2 2-6:1 ");
  EXPECT_EQ(show(special.split("abcabc")), "0-3:0 3-6:0 ");
  EXPECT_EQ(show(special.split("xyz")), "0-3:-1 ");
  EXPECT_EQ(show(special.split("")), "");
}

TEST(SpecialTokens, RandomTextsAreSplitAsBySlowSearch) {
  // One token of each length but two, so that the order among equals does not matter.
  const std::vector<std::string> tokens = {"a", "ab", "aba", "bbab", "babab", "aabbab", "b\n"};
  const SpecialTokens special = make(tokens);
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (uint32_t n = random() % 40; n > 0; --n)
      text += "ab\nc"[random() % 100 < 85 ? random() % 2 : random() % 4];
    const std::vector<std::string> distinct(tokens.begin(), tokens.end() - 1);
    EXPECT_EQ(show(make(distinct).split(text)), show(split_slowly(distinct, text))) << text;
  }
}

// As Gemma has them: newline runs of every length up to 31.
TEST(SpecialTokens, RunsTakeTheLongestFromTheLeft) {
  std::vector<std::string> tokens;
  for (size_t n = 2; n <= 31; ++n) tokens.push_back(std::string(n, '\n'));
  const SpecialTokens special = make(tokens);
  EXPECT_EQ(show(special.split(std::string(64, '\n'))), "0-31:29 31-62:29 62-64:0 ");
  EXPECT_EQ(show(special.split(std::string(32, '\n'))), "0-31:29 31-32:-1 ");
}

}  // namespace
}  // namespace pawl::text
