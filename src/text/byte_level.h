// SPDX-License-Identifier: Apache-2.0
// The stand-in characters of byte-level vocabularies: each byte is written as one printable
// character, so that any bytes can stand in a text file. 188 printable Latin-1 characters stand for
// themselves, the other 68 bytes, in order, for U+0100 to U+0143. Source: the published GPT-2
// encoder's definition.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::text {

// The stand-in of a byte, in UTF-8.
std::string_view stand_in(uint8_t byte);

// Appends the bytes that `stand_ins` stands for. A character that stands for no byte is kept as it
// is.
void append_bytes_of(std::string_view stand_ins, std::string& out);

// The byte that the first or last character of `stand_ins` stands for, or -1.
int first_byte_of(std::string_view stand_ins);
int last_byte_of(std::string_view stand_ins);

}  // namespace pawl::text
