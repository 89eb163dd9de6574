// SPDX-License-Identifier: Apache-2.0
#include "text/byte_level.h"

#include <array>

#include "base/utf8.h"

namespace pawl::text {
namespace {

constexpr int kStandIns = 0x144;  // code points below this may stand for a byte

struct Tables {
  std::array<std::array<char, 2>, 256> utf8{};  // of each byte's stand-in
  std::array<uint8_t, 256> utf8_bytes{};        // 1 or 2
  std::array<int16_t, kStandIns> byte_of{};     // -1: stands for none
};

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr Tables make_tables() {
  Tables tables;
  for (int16_t& byte : tables.byte_of) byte = -1;
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const int point = stands_for_itself(byte) ? byte : next++;
    const size_t at = static_cast<size_t>(byte);
    tables.byte_of[static_cast<size_t>(point)] = static_cast<int16_t>(byte);
    tables.utf8_bytes[at] = point < 0x80 ? 1 : 2;
    tables.utf8[at] = point < 0x80 ? std::array<char, 2>{static_cast<char>(point), 0}
                                   : std::array<char, 2>{static_cast<char>(0xC0 | (point >> 6)),
                                                         static_cast<char>(0x80 | (point & 0x3F))};
  }
  return tables;
}

constexpr Tables kTables = make_tables();

// The byte that the character `text[0..bytes)` stands for, or -1.
int byte_of(std::string_view text, size_t bytes) {
  const int lead = static_cast<uint8_t>(text[0]);
  if (bytes == 1) return kTables.byte_of[static_cast<size_t>(lead)];
  if (bytes != 2) return -1;
  const int point = (lead & 0x1F) << 6 | (static_cast<uint8_t>(text[1]) & 0x3F);
  return point < kStandIns ? kTables.byte_of[static_cast<size_t>(point)] : -1;
}

}  // namespace

std::string_view stand_in(uint8_t byte) {
  return {kTables.utf8[byte].data(), kTables.utf8_bytes[byte]};
}

void append_bytes_of(std::string_view stand_ins, std::string& out) {
  while (!stand_ins.empty()) {
    const size_t bytes = base::utf8_character_bytes(stand_ins);
    const int byte = bytes == 0 ? -1 : byte_of(stand_ins, bytes);
    if (byte >= 0) {
      out.push_back(static_cast<char>(byte));
    } else {
      out.append(stand_ins.substr(0, bytes == 0 ? 1 : bytes));
    }
    stand_ins.remove_prefix(bytes == 0 ? 1 : bytes);
  }
}

int first_byte_of(std::string_view stand_ins) {
  const size_t bytes = base::utf8_character_bytes(stand_ins);
  return bytes == 0 ? -1 : byte_of(stand_ins, bytes);
}

int last_byte_of(std::string_view stand_ins) {
  for (size_t bytes = 1; bytes <= stand_ins.size() && bytes <= 2; ++bytes) {
    const std::string_view last = stand_ins.substr(stand_ins.size() - bytes);
    if (base::utf8_character_bytes(last) == bytes) return byte_of(last, bytes);
  }
  return -1;
}

}  // namespace pawl::text
