// SPDX-License-Identifier: Apache-2.0
// Marks in a text that comes in pieces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace pawl::server {

// Bytes at the end of `text` that may be the head of `mark`, which is not whole there.
inline size_t head_of_mark(std::string_view text, std::string_view mark) {
  for (size_t length = std::min(text.size(), mark.size() - 1); length > 0; --length) {
    if (text.ends_with(mark.substr(0, length))) return length;
  }
  return 0;
}

}  // namespace pawl::server
