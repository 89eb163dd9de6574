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
