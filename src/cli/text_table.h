// SPDX-License-Identifier: Apache-2.0
// Rows of words and numbers, as a table for people or as CSV for programs.
#pragma once

#include <string>
#include <vector>

namespace pawl::cli {

struct TextColumn {
  std::string title;
  bool is_number = false;  // stands at the right
};

struct TextTable {
  std::vector<TextColumn> columns;
  std::vector<std::vector<std::string>> rows;  // one text for each column
  std::vector<std::string> total;              // stands below a line; empty: none
};

// Two spaces between columns, the title over a line, every character one cell wide. Control
// characters are made visible.
std::string table_text(const TextTable& table);

// RFC 4180, with a header line, without the total.
std::string csv_text(const TextTable& table);

}  // namespace pawl::cli
