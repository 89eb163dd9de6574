// SPDX-License-Identifier: Apache-2.0
#include "cli/text_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/paint.h"
#include "cli/terminal.h"

namespace pawl::cli {

namespace {

std::string line_of(const TextTable& table, const std::vector<size_t>& widths,
                    const std::vector<std::string>& texts) {
  std::string line;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const std::string text = visible(texts[i]);
    const std::string space(widths[i] - cells(text), ' ');
    if (i > 0) line += "  ";
    line += table.columns[i].is_number ? space + text : text + space;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char byte : text) quoted += byte == '"' ? std::string("\"\"") : std::string(1, byte);
  return quoted + '"';
}

std::string csv_line(const std::vector<std::string>& texts) {
  std::string line;
  for (const std::string& text : texts) {
    if (&text != &texts.front()) line += ',';
    line += csv_field(text);
  }
  return line + "\r\n";
}

std::vector<std::string> titles_of(const TextTable& table) {
  std::vector<std::string> titles;
  for (const TextColumn& column : table.columns) titles.push_back(column.title);
  return titles;
}

}  // namespace

std::string table_text(const TextTable& table) {
  const std::vector<std::string> titles = titles_of(table);
  std::vector<size_t> widths(titles.size());
  const auto widen = [&](const std::vector<std::string>& texts) {
    for (size_t i = 0; i < texts.size(); ++i) {
      widths[i] = std::max(widths[i], cells(visible(texts[i])));
    }
  };
  widen(titles);
  widen(table.total);
  std::for_each(table.rows.begin(), table.rows.end(), widen);

  size_t width = 2 * (widths.size() - 1);
  for (const size_t column : widths) width += column;
  std::string rule;
  for (size_t i = 0; i < width; ++i) rule += "─";
  rule += '\n';
  std::string text = line_of(table, widths, titles) + rule;
  for (const auto& row : table.rows) text += line_of(table, widths, row);
  if (!table.total.empty()) text += rule + line_of(table, widths, table.total);
  return text;
}

std::string csv_text(const TextTable& table) {
  std::string text = csv_line(titles_of(table));
  for (const auto& row : table.rows) text += csv_line(row);
  return text;
}

}  // namespace pawl::cli
