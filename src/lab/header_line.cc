// SPDX-License-Identifier: Apache-2.0
#include "lab/header_line.h"

#include <algorithm>
#include <charconv>

namespace pawl::lab {
namespace {

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace

bool is_same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

std::optional<int64_t> parse_count(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end || value < 0) return std::nullopt;
  return value;
}

std::optional<std::pair<std::string_view, std::string_view>> split_header(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return std::pair(line.substr(0, colon), trimmed(line.substr(colon + 1)));
}

std::optional<int> parse_status_line(std::string_view line) {
  if (!line.starts_with("HTTP/")) return std::nullopt;
  const std::string_view rest = trimmed(line.substr(std::min(line.find(' '), line.size())));
  return static_cast<int>(parse_count(rest.substr(0, 3)).value_or(0));
}

}  // namespace pawl::lab
