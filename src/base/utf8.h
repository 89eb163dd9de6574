// SPDX-License-Identifier: Apache-2.0
// UTF-8 as RFC 3629 defines it: no surrogates, nothing above U+10FFFF, no overlong forms. Bytes
// that break it are never an accident of ours: they come from a model or a user, and every function
// here takes them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl::base {

// U+FFFD, what stands for bytes that are no character.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

// Bytes of the character that begins `text`: 1 to 4, or 0 when none does (empty, broken or cut
// off).
size_t utf8_character_bytes(std::string_view text);

// Bytes of the longest prefix that is valid UTF-8.
size_t utf8_valid_prefix(std::string_view text);

bool is_valid_utf8(std::string_view text);

// Bytes at the end of `text`, 0 to 3, that begin a character whose rest may still come. Bytes that
// no continuation can make valid do not count.
size_t utf8_incomplete_tail(std::string_view text);

// Appends `text`, with U+FFFD for every maximal part of it that begins no character (Unicode 15
// §3.9, "substitution of maximal subparts", which most decoders follow).
void append_valid_utf8(std::string_view text, std::string& out);

// A foreign text for a message: in quotes, on one line, valid UTF-8, at most 60 bytes of it. Control
// characters become \xNN, so that none reaches a terminal.
std::string quoted_text(std::string_view text);

}  // namespace pawl::base
