// SPDX-License-Identifier: Apache-2.0
#include "cli/paint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cli/terminal.h"

namespace pawl::cli {

namespace {

bool is_start(char byte) {
  return (byte & 0xc0) != 0x80;
}

// Bytes of the first `count` characters.
size_t bytes_of(std::string_view text, size_t count) {
  size_t seen = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_start(text[i]) && seen++ == count) return i;
  }
  return text.size();
}

// Select graphic rendition (ECMA-48 §8.3.117): the sixteen colours that every theme sets.
std::string_view code_of(Ink ink) {
  switch (ink) {
    case Ink::kPlain:
      return "0";
    case Ink::kBold:
      return "1";
    case Ink::kSoft:
      return "2";
    case Ink::kGood:
      return "32";
    case Ink::kBad:
      return "31";
    case Ink::kWarn:
      return "33";
    case Ink::kFirst:
      return "34";
    case Ink::kTail:
      return "36";
  }
  return "0";
}

}  // namespace

size_t cells(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), is_start));
}

std::vector<std::string> wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!lines.back().empty() && cells(lines.back()) + 1 + cells(word) > width) {
      lines.emplace_back();
    } else if (!lines.back().empty()) {
      lines.back() += ' ';
    }
    while (cells(lines.back()) + cells(word) > width) {
      const size_t fits = bytes_of(word, width - cells(lines.back()));
      lines.back() += word.substr(0, fits);
      word.remove_prefix(fits);
      lines.emplace_back();
    }
    lines.back() += word;
  }
  return lines;
}

std::string shortened(std::string_view text, size_t width) {
  if (cells(text) <= width) return std::string(text);
  return fmt::format("{}…", text.substr(0, bytes_of(text, std::max<size_t>(width, 1) - 1)));
}

Paint Paint::of(int descriptor) {
  constexpr size_t kMost = 120, kLeast = 60;
  Paint paint;
  const char* const term = std::getenv("TERM");
  const char* const no_color = std::getenv("NO_COLOR");
  const bool is_refused = no_color != nullptr && *no_color != '\0';
  const bool is_dumb = term == nullptr || std::string_view(term) == "dumb";
  paint.is_colored = is_terminal(descriptor) && !is_refused && !is_dumb;
  paint.columns = std::clamp(static_cast<size_t>(terminal_columns(descriptor)), kLeast, kMost);
  return paint;
}

std::string Paint::operator()(Ink ink, std::string_view text) const {
  if (!is_colored || ink == Ink::kPlain || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(ink), text);
}

}  // namespace pawl::cli
