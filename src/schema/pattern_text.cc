// SPDX-License-Identifier: Apache-2.0
#include "schema/pattern_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pawl::schema {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// White space and line ends as ECMA-262 has them (sections 12.2 and 12.3).
constexpr std::string_view kSpaces =
    "\\t\\n\\x0B\\x0C\\r\\x20\\xA0\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}"
    "\\x{3000}\\x{FEFF}";

// The members of a class that one letter stands for; empty: none does.
std::string class_members(char32_t letter) {
  switch (letter) {
    case U'd':
      return "0-9";
    case U'w':
      return "0-9A-Za-z_";
    case U's':
      return std::string(kSpaces);
    default:
      return {};
  }
}

// The control characters that one letter stands for.
constexpr std::pair<char32_t, char32_t> kControls[] = {{U't', U'\t'}, {U'n', U'\n'}, {U'v', U'\v'},
                                                       {U'f', U'\f'}, {U'r', U'\r'}, {U'0', U'\0'}};

bool is_digit(char32_t c) {
  return c >= U'0' && c <= U'9';
}

// ASCII alone.
bool is_letter(char32_t c) {
  return (c | 0x20) >= U'a' && (c | 0x20) <= U'z';
}

}  // namespace

std::string code_point(char32_t c) {
  return fmt::format("\\x{{{:X}}}", static_cast<uint32_t>(c));
}

bool PatternText::take(char32_t c) {
  if (!has(c)) return false;
  ++place_;
  return true;
}

Error PatternText::wrong(ErrorCode code, std::string_view what) const {
  return {code, fmt::format("{} at column {}", what, place_ + 1), ""};
}

std::optional<char32_t> PatternText::hex(size_t digits) {
  if (place_ + digits > text_.size()) return std::nullopt;
  char32_t value = 0;
  for (size_t i = 0; i < digits; ++i) {
    const char32_t c = text_[place_ + i];
    const char32_t lower = c | 0x20;
    if (!is_digit(c) && (lower < U'a' || lower > U'f')) return std::nullopt;
    value = value * 16 + (is_digit(c) ? c - U'0' : lower - U'a' + 10);
  }
  place_ += digits;
  return value;
}

Result<std::optional<char32_t>> PatternText::character_escape() {
  const char32_t c = peek();
  ++place_;
  for (const auto& [letter, control] : kControls) {
    if (c == letter) return std::optional(control);
  }
  switch (c) {
    case U'c':
      if (is_letter(peek())) return std::optional<char32_t>(text_[place_++] & 0x1F);
      break;
    case U'x':
      if (const auto value = hex(2)) return value;
      break;
    case U'u':
      return unicode_escape();
    default:
      if (!is_digit(c) && !is_letter(c)) return std::optional(c);
  }
  --place_;
  return std::optional<char32_t>();
}

Result<std::optional<char32_t>> PatternText::unicode_escape() {
  if (take(U'{')) {
    char32_t value = 0;
    const size_t start = place_;
    while (const auto digit = hex(1)) value = std::min<char32_t>(value * 16 + *digit, 0x110000);
    if (place_ == start || !take(U'}') || value > 0x10FFFF) {
      return wrong(ErrorCode::kInvalidArgument, "a \\u{...} that is no code point");
    }
    return std::optional(value);
  }
  const auto first = hex(4);
  if (!first) return wrong(ErrorCode::kInvalidArgument, "a \\u without four digits");
  const bool is_high = *first >= 0xD800 && *first < 0xDC00;
  if (is_high && peek() == U'\\' && peek(1) == U'u') {
    place_ += 2;
    const auto second = hex(4);
    if (second && *second >= 0xDC00 && *second < 0xE000) {
      return std::optional<char32_t>(0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00));
    }
  }
  if (*first >= 0xD800 && *first < 0xE000) return unsupported("half a surrogate pair");
  return first;
}

// \p{…}: the automata library knows the same names.
Result<std::string> PatternText::property() {
  const bool is_negated = text_[place_++] == U'P';
  if (!take(U'{')) return wrong(ErrorCode::kInvalidArgument, "a \\p without braces");
  std::string name;
  while (!at_end() && !has(U'}')) {
    const char32_t c = text_[place_++];
    const bool is_name = c == U'_' || c == U'=' || is_digit(c) || is_letter(c);
    if (!is_name) return wrong(ErrorCode::kInvalidArgument, "a name of no property");
    name += static_cast<char>(c);
  }
  if (!take(U'}')) return wrong(ErrorCode::kInvalidArgument, "a \\p without end");
  return fmt::format("\\{}{{{}}}", is_negated ? 'P' : 'p', name);
}

Result<std::string> PatternText::escape() {
  ++place_;
  if (at_end()) return wrong(ErrorCode::kInvalidArgument, "a backslash at the end");
  const char32_t c = peek();
  if (const std::string members = class_members(c | 0x20); !members.empty() && c < 128) {
    ++place_;
    return fmt::format("[{}{}]", c < U'a' ? "^" : "", members);
  }
  if (c >= U'1' && c <= U'9') return unsupported("a back reference");
  if (c == U'k' && peek(1) == U'<') return unsupported("a back reference");
  if (c == U'p' || c == U'P') return property();
  PAWL_TRY(const auto value, character_escape());
  if (value) return code_point(*value);
  // Letters that mean nothing: other engines read some of them as anchors.
  if (std::u32string_view(U"AzZG").find(c) != std::u32string_view::npos) {
    return unsupported(fmt::format("\\{}", static_cast<char>(c)));
  }
  ++place_;
  return code_point(c);
}

Result<std::string> PatternText::bracket_member(std::optional<char32_t>& single) {
  single.reset();
  if (!take(U'\\')) {
    single = text_[place_++];
    return std::string();
  }
  if (at_end()) return wrong(ErrorCode::kInvalidArgument, "a backslash at the end");
  const char32_t c = peek();
  if (const std::string members = class_members(c | 0x20); !members.empty() && c < 128) {
    ++place_;
    return c < U'a' ? fmt::format("[^{}]", members) : members;
  }
  if (c == U'p' || c == U'P') return property();
  if (c == U'b') {
    ++place_;
    single = U'\b';
    return std::string();
  }
  PAWL_TRY(single, character_escape());
  if (!single) single = text_[place_++];
  return std::string();
}

Result<std::string> PatternText::bracket() {
  ++place_;
  std::string out = "[";
  const bool is_negated = take(U'^');
  if (is_negated) out += '^';
  bool is_empty = true, has_mark = false, has_control = false;
  const auto add_range = [&](char32_t first, char32_t last) {
    has_control |= first <= 1 && last >= 1;
    has_mark |= (first <= U'"' && last >= U'"') || (first <= U'\\' && last >= U'\\');
  };
  while (!at_end() && !has(U']')) {
    is_empty = false;
    std::optional<char32_t> first;
    PAWL_TRY(std::string members, bracket_member(first));
    const bool is_range = has(U'-') && peek(1) != U']' && peek(1) != U'\0';
    if (!is_range || !first) {
      out += first ? code_point(*first) : members;
      add_range(first.value_or(0), first.value_or(0x10FFFF));
      continue;
    }
    ++place_;
    std::optional<char32_t> last;
    PAWL_TRY(members, bracket_member(last));
    if (!last) {
      out += code_point(*first) + "\\x2D" + members;
      add_range(0, 0x10FFFF);
      continue;
    }
    if (*last < *first) return wrong(ErrorCode::kInvalidArgument, "a range out of order");
    out += code_point(*first) + "-" + code_point(*last);
    add_range(*first, *last);
  }
  if (!take(U']')) return wrong(ErrorCode::kInvalidArgument, "a class without end");
  if (is_empty) return std::string(is_negated ? "(?s:.)" : "[^\\x{0}-\\x{10FFFF}]");
  // The library takes a class with every control character for one that has quotes and
  // backslashes too when it spells it in JSON. Complements leave the same character out
  // (language.cc).
  if (is_negated && has_mark) out += "\\x{1}";
  out += ']';
  return !is_negated && has_control && !has_mark ? "[" + out + "--\\x{1}]" : out;
}

}  // namespace pawl::schema
