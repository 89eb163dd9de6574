// SPDX-License-Identifier: Apache-2.0
// Blanks around a part of a line.
#pragma once

#include <string_view>

namespace pawl::base {

// `text` without blanks, tabs and carriage returns at its ends.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace pawl::base
