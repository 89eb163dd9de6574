// SPDX-License-Identifier: Apache-2.0
// The character that stands for a space in the pieces of SentencePiece vocabularies.
#pragma once

#include <string>
#include <string_view>

namespace pawl::text {

inline constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581

// Appends a piece with its marks as spaces again.
inline void append_with_spaces(std::string_view piece, std::string& out) {
  for (size_t space = piece.find(kSpace); space != std::string_view::npos;
       space = piece.find(kSpace)) {
    out.append(piece.substr(0, space));
    out.push_back(' ');
    piece.remove_prefix(space + kSpace.size());
  }
  out.append(piece);
}

}  // namespace pawl::text
