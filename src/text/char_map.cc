// SPDX-License-Identifier: Apache-2.0
#include "text/char_map.h"

#include <cstring>
#include <string>

namespace pawl::text {
namespace {

constexpr uint32_t kLeafMark = uint32_t{1} << 31;

bool has_leaf(uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
// Of a node; a leaf gives a number that no byte equals.
uint32_t label(uint32_t unit) {
  return unit & (kLeafMark | 0xFF);
}
size_t offset(uint32_t unit) {
  return static_cast<size_t>(unit >> 10) << ((unit >> 9 & 1) * 8);
}

}  // namespace

base::Result<CharMap> CharMap::create(std::span<const std::byte> bytes) {
  const auto bad = [&](const std::string& message) {
    return base::Error{base::ErrorCode::kBadFile, message, "tokenizer.ggml.precompiled_charsmap"};
  };
  CharMap map;
  if (bytes.empty()) return map;
  uint32_t size = 0;
  if (bytes.size() < sizeof(size)) return bad("the table of characters is cut off");
  std::memcpy(&size, bytes.data(), sizeof(size));
  bytes = bytes.subspan(sizeof(size));
  if (size > bytes.size() || size % sizeof(uint32_t) != 0) {
    return bad("the table of characters claims " + std::to_string(size) + " bytes of " +
               std::to_string(bytes.size()) + ", in units of 4");
  }
  map.units_ = bytes.first(size);
  const auto texts = bytes.subspan(size);
  map.texts_ = {reinterpret_cast<const char*>(texts.data()), texts.size()};
  if (!map.texts_.empty() && map.texts_.back() != '\0')
    return bad("the last text of the table of characters has no end");
  return map;
}

uint32_t CharMap::unit(size_t at) const {
  uint32_t value = 0;
  std::memcpy(&value, units_.data() + at * sizeof(value), sizeof(value));
  return value;
}

// Positions from the file may lead anywhere: outside of the units the walk ends.
CharMap::Match CharMap::longest(std::string_view text) const {
  Match best;
  const size_t count = units_.size() / sizeof(uint32_t);
  if (count == 0) return best;
  size_t at = offset(unit(0));
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    at ^= byte;
    if (at >= count) break;
    const uint32_t node = unit(at);
    if (label(node) != byte) break;
    at ^= offset(node);
    if (!has_leaf(node)) continue;
    if (at >= count) break;
    const size_t begin = unit(at) & ~kLeafMark;
    if (begin >= texts_.size()) break;
    best = {i + 1, texts_.substr(begin, texts_.find('\0', begin) - begin)};
  }
  return best;
}

}  // namespace pawl::text
