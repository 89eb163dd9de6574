// SPDX-License-Identifier: Apache-2.0
// Lines of an HTTP head, as RFC 9110 §5 and RFC 9112 §4 write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace pawl::lab {

// Compares ASCII letters without case, as header names are.
bool is_same_word(std::string_view a, std::string_view b);

// A decimal number that is the whole text and not negative.
std::optional<int64_t> parse_count(std::string_view text);

// "Name: value\r\n" → name and value without the white space around it; nothing for other lines.
std::optional<std::pair<std::string_view, std::string_view>> split_header(std::string_view line);

// "HTTP/1.1 200 OK\r\n" → 200; nothing for what is no status line.
std::optional<int> parse_status_line(std::string_view line);

}  // namespace pawl::lab
