// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace pawl::base {
namespace {

// The examples of the Unicode Standard 15.0, tables 3-8 to 3-11: input and its substitution.
TEST(Utf8, ReplacesMaximalSubpartsAsTheStandardShows) {
  const std::string r(kReplacementCharacter);
  const std::pair<std::string, std::string> cases[] = {
      {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", r + r + r + r + r + r + r + r + "A"},
      {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", r + r + r + r + r + r + r + r + "A"},
      {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", r + r + r + r + r + "A" + r + r + "B"},
      {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", r + r + r + r + "A"},
  };
  for (const auto& [input, expected] : cases) {
    std::string out;
    append_valid_utf8(input, out);
    EXPECT_EQ(out, expected);
    EXPECT_TRUE(is_valid_utf8(out));
  }
}

TEST(Utf8, AcceptsTheFirstAndLastCharacterOfEachLengthAndNothingBeside) {
  for (const char* good :
       {"\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_valid_utf8(good));
    EXPECT_EQ(utf8_character_bytes(good), std::string(good).size());
  }
  EXPECT_EQ(utf8_character_bytes(std::string_view("\0", 1)), 1u);
  for (const char* bad : {"\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\xFF"}) {
    EXPECT_FALSE(is_valid_utf8(bad));
    EXPECT_EQ(utf8_character_bytes(bad), 0u);
  }
}

TEST(Utf8, TellsATailThatMayBecomeACharacterFromOneThatCannot) {
  EXPECT_EQ(utf8_incomplete_tail(""), 0u);
  EXPECT_EQ(utf8_incomplete_tail("abc"), 0u);
  EXPECT_EQ(utf8_incomplete_tail("a\xC3"), 1u);
  EXPECT_EQ(utf8_incomplete_tail("a\xC3\xA9"), 0u);
  EXPECT_EQ(utf8_incomplete_tail("\xF0\x9F\x98"), 3u);
  EXPECT_EQ(utf8_incomplete_tail("\xF0\x9F\x98\x80"), 0u);
  EXPECT_EQ(utf8_incomplete_tail("a\xE0\x80"), 0u);  // overlong: nothing can save it
  EXPECT_EQ(utf8_incomplete_tail("a\xFF"), 0u);
  EXPECT_EQ(utf8_incomplete_tail("\x80\x80\x80"), 0u);
  EXPECT_EQ(utf8_valid_prefix("ab\xC3\xA9\xC3"), 4u);
}

TEST(Utf8, AQuotedTextIsOneLineWithoutControlCharacters) {
  EXPECT_EQ(quoted_text(""), "''");
  EXPECT_EQ(quoted_text("a \xC4\x80 b"), "'a \xC4\x80 b'");
  EXPECT_EQ(quoted_text("a\nb\x1B[2J\x7F\xC2\x9B"), "'a\\x0ab\\x1b[2J\\x7f\\x9b'");
  EXPECT_EQ(quoted_text("\xFF"), "'\xEF\xBF\xBD'");
  EXPECT_EQ(quoted_text(std::string(60, 'x')), "'" + std::string(60, 'x') + "'");
  EXPECT_EQ(quoted_text(std::string(59, 'x') + "\xC4\x80"), "'" + std::string(59, 'x') + "...'");
}

}  // namespace
}  // namespace pawl::base
