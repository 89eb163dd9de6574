// SPDX-License-Identifier: Apache-2.0
#include "cli/text_table.h"

#include <gtest/gtest.h>

namespace pawl::cli {
namespace {

TEST(TextTable, NumbersStandAtTheRightAndCharactersAreCountedNotBytes) {
  const TextTable table = {
      {{"name"}, {"tokens", true}}, {{"größe", "1,234"}, {"a", "5"}}, {"total", "1,239"}};
  EXPECT_EQ(table_text(table),
            "name   tokens\n"
            "─────────────\n"
            "größe   1,234\n"
            "a           5\n"
            "─────────────\n"
            "total   1,239\n");
}

TEST(TextTable, ControlCharactersAreMadeVisible) {
  const TextTable table = {{{"key"}}, {{"a\nb\x1b[2J"}}, {}};
  EXPECT_EQ(table_text(table).find('\x1b'), std::string::npos);
  EXPECT_EQ(table_text(table).find("a\nb"), std::string::npos);
}

// RFC 4180 §2
TEST(TextTable, CsvQuotesWhatNeedsQuotes) {
  const TextTable table = {{{"key"}, {"n", true}},
                           {{"plain", "1"}, {"a,b", "2"}, {"say \"hi\"", "3"}, {"two\nlines", "4"}},
                           {"total", "10"}};
  EXPECT_EQ(csv_text(table),
            "key,n\r\nplain,1\r\n\"a,b\",2\r\n\"say \"\"hi\"\"\",3\r\n\"two\nlines\",4\r\n");
}

}  // namespace
}  // namespace pawl::cli
