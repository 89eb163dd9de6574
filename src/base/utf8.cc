// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <algorithm>
#include <cstdint>

namespace pawl::base {
namespace {

// What Unicode's table 3-7 says about a lead byte: length of the character and range of its second
// byte.
struct Lead {
  size_t bytes;  // 0: leads nothing
  uint8_t second_low;
  uint8_t second_high;
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// The bytes of a character, and how many of them stand at the beginning of `text`.
struct Start {
  size_t wanted;   // 0: no character begins so
  size_t present;  // 1..wanted; less than wanted: cut off, or broken at this place
};

// REQUIRES: !text.empty()
Start start_of(std::string_view text) {
  const Lead lead = lead_of(static_cast<uint8_t>(text[0]));
  size_t present = 1;
  while (present < lead.bytes && present < text.size()) {
    const uint8_t byte = static_cast<uint8_t>(text[present]);
    const uint8_t low = present == 1 ? lead.second_low : 0x80;
    const uint8_t high = present == 1 ? lead.second_high : 0xBF;
    if (byte < low || byte > high) break;
    ++present;
  }
  return {lead.bytes, present};
}

}  // namespace

size_t utf8_character_bytes(std::string_view text) {
  if (text.empty()) return 0;
  const Start start = start_of(text);
  return start.present == start.wanted ? start.wanted : 0;
}

size_t utf8_valid_prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const size_t bytes = utf8_character_bytes(text.substr(at));
    if (bytes == 0) return at;
    at += bytes;
  }
  return at;
}

bool is_valid_utf8(std::string_view text) {
  return utf8_valid_prefix(text) == text.size();
}

size_t utf8_incomplete_tail(std::string_view text) {
  for (size_t tail = 1; tail <= std::min<size_t>(3, text.size()); ++tail) {
    const Start start = start_of(text.substr(text.size() - tail));
    if (start.wanted > tail && start.present == tail) return tail;
  }
  return 0;
}

void append_valid_utf8(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const size_t valid = utf8_valid_prefix(text);
    out.append(text.substr(0, valid));
    text.remove_prefix(valid);
    if (text.empty()) return;
    out.append(kReplacementCharacter);
    text.remove_prefix(start_of(text).present);
  }
}

std::string quoted_text(std::string_view text) {
  constexpr size_t kShown = 60;
  constexpr std::string_view kHex = "0123456789abcdef";
  const bool is_cut = text.size() > kShown;
  text = text.substr(0, kShown);
  if (is_cut) text.remove_suffix(utf8_incomplete_tail(text));
  std::string valid;
  append_valid_utf8(text, valid);
  std::string out = "'";
  for (std::string_view rest = valid; !rest.empty();) {
    const std::string_view character = rest.substr(0, utf8_character_bytes(rest));
    rest.remove_prefix(character.size());
    const auto last = static_cast<unsigned char>(character.back());
    const bool is_c1 = character.size() == 2 && character[0] == '\xC2' && last < 0xA0;
    if (is_c1 || (character.size() == 1 && (last < 0x20 || last == 0x7F))) {
      out += "\\x";
      out += kHex[last >> 4];
      out += kHex[last & 15];
    } else {
      out += character;
    }
  }
  return out + (is_cut ? "...'" : "'");
}

}  // namespace pawl::base
