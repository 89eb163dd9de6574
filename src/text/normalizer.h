// SPDX-License-Identifier: Apache-2.0
// What a tokenizer's file asks to be done to characters before they are looked up. The only user of
// utf8proc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::text {

enum class CharacterKind { kOther, kSpace, kPunctuation, kIdeograph, kIgnored };

// As BERT's published tokenizer sorts them: ASCII symbols are punctuation, tabs and line ends are
// spaces; kIgnored: control and format characters, U+0000 and U+FFFD.
CharacterKind bert_kind(int32_t code_point);

struct CharacterFolding {
  bool lowers = true;        // to lower case
  bool strips_marks = true;  // decomposed, without marks that take no space
};

// The folded characters; bytes that are no UTF-8 are left out.
std::vector<int32_t> fold_characters(std::string_view text, CharacterFolding folding);

void append_utf8(int32_t code_point, std::string& out);

}  // namespace pawl::text
