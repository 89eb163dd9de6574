// SPDX-License-Identifier: Apache-2.0
// Text for a terminal: in colour where there is one that shows it, broken into lines, in cells.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

// Cells that a text without control characters takes: one for each character.
size_t cells(std::string_view text);

// The text in lines of at most `width` cells, broken at spaces; a word that is longer is broken
// where the line ends. At least one line.
std::vector<std::string> wrapped(std::string_view text, size_t width);

// At most `width` cells; what was longer ends in "…".
std::string shortened(std::string_view text, size_t width);

enum class Ink { kPlain, kBold, kSoft, kGood, kBad, kWarn, kFirst, kTail };

// How one stream is written to. Colour where it is a terminal, unless NO_COLOR or TERM=dumb say
// otherwise (no-color.org).
struct Paint {
  bool is_colored = false;
  size_t columns = 80;  // of the terminal, at most 120: longer lines are hard to read

  static Paint of(int descriptor);
  std::string operator()(Ink ink, std::string_view text) const;
};

}  // namespace pawl::cli
