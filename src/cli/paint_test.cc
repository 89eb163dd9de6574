// SPDX-License-Identifier: Apache-2.0
// Lines for a terminal: no line is wider than it may be, and no character is torn.
#include "cli/paint.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace pawl::cli {
namespace {

TEST(Paint, LinesBreakAtSpacesAndHoldEveryWord) {
  EXPECT_EQ(wrapped("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrapped("one two three", 100), (std::vector<std::string>{"one two three"}));
  EXPECT_EQ(wrapped("", 10), (std::vector<std::string>{""}));
}

TEST(Paint, AWordThatIsTooLongBreaksWhereTheLineEnds) {
  EXPECT_EQ(wrapped("a bbbbbbbb c", 4), (std::vector<std::string>{"a", "bbbb", "bbbb", "c"}));
}

TEST(Paint, CharactersOfSeveralBytesAreOneCellEachAndStayWhole) {
  const std::string text = "größer ≥ zwölf × ärger – über";
  for (size_t width = 1; width < 12; ++width) {
    for (const std::string& line : wrapped(text, width)) {
      EXPECT_LE(cells(line), width) << line;
      EXPECT_EQ(base::utf8_valid_prefix(line), line.size()) << line;
    }
    EXPECT_LE(cells(shortened(text, width)), width);
    EXPECT_EQ(base::utf8_valid_prefix(shortened(text, width)), shortened(text, width).size());
  }
  EXPECT_EQ(cells("größer"), 6U);
  EXPECT_EQ(shortened("größer", 4), "grö…");
  EXPECT_EQ(shortened("größer", 6), "größer");
}

TEST(Paint, WithoutColourNothingIsAdded) {
  Paint paint;
  EXPECT_EQ(paint(Ink::kGood, "holds"), "holds");
  paint.is_colored = true;
  EXPECT_EQ(paint(Ink::kGood, "holds"), "\x1b[32mholds\x1b[0m");
  EXPECT_EQ(paint(Ink::kPlain, "holds"), "holds");
}

}  // namespace
}  // namespace pawl::cli
