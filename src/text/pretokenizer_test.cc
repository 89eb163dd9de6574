// SPDX-License-Identifier: Apache-2.0
#include "text/pretokenizer.h"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace pawl::text {
namespace {

std::vector<std::string> every_name() {
  std::vector<std::string> names;
  std::istringstream in(pretokenizer_names());
  for (std::string name; in >> name;) names.push_back(name);
  return names;
}

std::vector<std::string> words(const std::string& name, const std::string& text) {
  const Pretokenizer made = Pretokenizer::create(*find_pretokenizer(name)).value();
  std::vector<uint32_t> ends;
  EXPECT_TRUE(made.split(text, ends).ok());
  std::vector<std::string> out;
  uint32_t begin = 0;
  for (uint32_t end : ends) {
    out.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return out;
}

// What other work on the machine does not change.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

using Words = std::vector<std::string>;

TEST(Pretokenizer, NamesAreUniqueAndEveryRowCompiles) {
  std::vector<std::string> names = every_name();
  for (const std::string& name : names) {
    ASSERT_NE(find_pretokenizer(name), nullptr);
    auto made = Pretokenizer::create(*find_pretokenizer(name));
    EXPECT_TRUE(made.ok()) << name << ": " << (made.ok() ? "" : made.error().message);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_EQ(find_pretokenizer("made-up-v9"), nullptr);
  EXPECT_EQ(find_pretokenizer(""), nullptr);
}

// The names that llama.cpp's converter and loader know (src/llama-vocab.cpp of October 2026).
TEST(Pretokenizer, KnowsEveryNameThatFilesHave) {
  std::istringstream names(
      "a.x-4.0 afmoe bailingmoe bailingmoe2 bloom chameleon chatglm-bpe codeshell "
      "cohere2moe command-r dbrx deepseek-coder deepseek-llm deepseek-r1-qwen deepseek-v3 "
      "default exaone exaone-moe exaone4 f2llmv2 falcon falcon-h1 falcon3 gigachat glm4 "
      "glm5 gpt-2 gpt-4o gpt3-finnish granite-docling granite-embed-multi-97m grok-2 "
      "hunyuan hunyuan-dense hy_v4 jais jais-2 jina-de jina-es jina-v1-en jina-v2-code "
      "jina-v2-de jina-v2-es jina-v5-nano joyai-llm kanana2 kimi-k2 kormo laguna lfm2 "
      "llada-moe llama-bpe llama-v3 llama3 llama4 megrez mellum mellum2 midm-2.0 "
      "minerva-7b minicpm5 minimax-m2 modern-bert mpt olmo phi-2 pixtral poro-chat qwen2 "
      "qwen35 refact roberta-bpe seed-coder smaug-bpe smollm solar-open spark2_5 stablelm2 "
      "starcoder superbpe talkie tekken tiny_aya trillion ufakzeka viking youtu");
  int count = 0;
  for (std::string name; names >> name; ++count) {
    const PretokenizerRow* row = find_pretokenizer(name);
    ASSERT_NE(row, nullptr) << name;
    EXPECT_FALSE(row->source.empty()) << name;
    EXPECT_FALSE(merges_characters(name)) << name;
  }
  EXPECT_EQ(count, 87);
  for (const char* name : {"gemma4", "granite-embed-multi-311m", "sarvam-moe", "whitespace"}) {
    EXPECT_EQ(find_pretokenizer(name), nullptr) << name;
    EXPECT_TRUE(merges_characters(name)) << name;
  }
}

// By hand from the published expressions.
TEST(Pretokenizer, RowsCutAsTheirExpressionsSay) {
  EXPECT_EQ(words("deepseek-llm", "a !?\xF0\x9F\x99\x82 12"),
            (Words{"a", " !?", "\xF0\x9F\x99\x82 ", "1", "2"}));
  EXPECT_EQ(words("minicpm5", "it's 1234"), (Words{"it", "'s", " ", "123", "4"}));
  EXPECT_EQ(words("ufakzeka", "it's 12"), (Words{"it", "'s", " ", "1", "2"}));
  EXPECT_EQ(words("ufakzeka", "Ali'nin"), (Words{"Ali", "'nin"}));
  EXPECT_EQ(words("qwen2", "Ali'snin"), (Words{"Ali", "'s", "nin"}));
  EXPECT_EQ(words("laguna", "a\n\n b"), (Words{"a", "\n\n", " b"}));
  EXPECT_EQ(words("exaone-moe", "one two 3."), (Words{"one two", " ", "3", "."}));
  EXPECT_EQ(words("tiny_aya", "1234567 a"), (Words{"1", "234", "567", " a"}));
  EXPECT_EQ(words("tiny_aya", "1234567a"), (Words{"123", "456", "7", "a"}));
  EXPECT_EQ(words("afmoe", "12345 ab"), (Words{"12", "345", " ab"}));
  EXPECT_EQ(words("spark2_5", "a.\n\n1234"), (Words{"a", ".", "\n", "\n", "1", "2", "3", "4"}));
  EXPECT_EQ(words("deepseek-v3", "a.\n\n1234"), (Words{"a", ".\n\n", "123", "4"}));
  EXPECT_EQ(words("jais-2", "a       b"), (Words{"a", "    ", "  ", " b"}));
  EXPECT_EQ(words("jais-2", "a   \n   1  "), (Words{"a", "   \n", "  ", " ", "1", "  "}));
  EXPECT_EQ(words("jais-2", std::string(517, ' ')).size(), 3u);  // 512, 4, 1
  EXPECT_EQ(words("chameleon", "a      b1"), (Words{"a", "    ", "  ", "b", "1"}));
  EXPECT_EQ(words("youtu", "Hello World's 12"), (Words{"Hello", " World's", " ", "1", "2"}));
}

// U+0085 is white space, U+180E has not been since Unicode 6.3.
TEST(Pretokenizer, WhiteSpaceIsUnicodesProperty) {
  EXPECT_EQ(words("gpt-2",
                  "a\xC2\x85\xC2\x85"
                  "b"),
            (Words{"a", "\xC2\x85", "\xC2\x85", "b"}));
  EXPECT_EQ(words("gpt-2",
                  "a \xE1\xA0\x8E"
                  "b"),
            (Words{"a", " \xE1\xA0\x8E", "b"}));
}

TEST(Pretokenizer, DigitsAreGroupedFromTheRightWhereTheRowSaysSo) {
  EXPECT_EQ(words("superbpe", "a1234567b123"), (Words{"a", "1", "234", "567", "b", "123"}));
  EXPECT_EQ(words("llama-bpe", "1234567"), (Words{"123", "456", "7"}));
}

// One character or two repeated, and then something else: no row may look at a long run again and
// again.
TEST(Pretokenizer, S001_TimeIsLinearForEveryRow) {
  const std::vector<std::string> units = {"a",  "A",  " ",        "\n",           "0",   ".",
                                          "'",  "/",  "\xCC\x81", "\xE5\xAD\x97", " \t", "\r\n",
                                          "a ", "Aa", " \n",      "\xC2\xBD"};
  for (const std::string& name : every_name()) {
    auto created = Pretokenizer::create(*find_pretokenizer(name));
    ASSERT_TRUE(created.ok()) << name;
    const Pretokenizer made = std::move(*created);
    for (const std::string& unit : units) {
      double seconds[2] = {1e9, 1e9};
      const int counts[2] = {20000, 200000};
      for (int size = 0; size < 2; ++size) {
        std::string text;
        for (int i = 0; i < counts[size]; ++i) text += unit;
        text += "x";
        std::vector<uint32_t> ends;
        for (int round = 0; round < 2; ++round) {
          const double start = thread_seconds();
          ASSERT_TRUE(made.split(text, ends).ok()) << name;
          seconds[size] = std::min(seconds[size], thread_seconds() - start);
        }
        ASSERT_EQ(ends.back(), text.size());
      }
      // A quadratic cost would be a factor of 100; short times are not told apart.
      EXPECT_LT(seconds[1], 30 * std::max(seconds[0], 5e-4)) << name << " '" << unit << "'";
    }
  }
}

}  // namespace
}  // namespace pawl::text
