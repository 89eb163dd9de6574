// SPDX-License-Identifier: Apache-2.0
#include "text/normalizer.h"

#include <utf8proc.h>

namespace pawl::text {
namespace {

bool is_ascii_symbol(int32_t c) {
  return (33 <= c && c <= 47) || (58 <= c && c <= 64) || (91 <= c && c <= 96) ||
         (123 <= c && c <= 126);
}

// The blocks of CJK ideographs that BERT's tokenizer names.
bool is_ideograph(int32_t c) {
  return (0x4E00 <= c && c <= 0x9FFF) || (0x3400 <= c && c <= 0x4DBF) ||
         (0x20000 <= c && c <= 0x2A6DF) || (0x2A700 <= c && c <= 0x2B73F) ||
         (0x2B740 <= c && c <= 0x2B81F) || (0x2B920 <= c && c <= 0x2CEAF) ||
         (0xF900 <= c && c <= 0xFAFF) || (0x2F800 <= c && c <= 0x2FA1F);
}

}  // namespace

CharacterKind bert_kind(int32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return CharacterKind::kSpace;
  if (c == 0 || c == 0xFFFD) return CharacterKind::kIgnored;
  switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return CharacterKind::kSpace;
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CS:
      return CharacterKind::kIgnored;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return CharacterKind::kPunctuation;
    default:
      break;
  }
  if (is_ascii_symbol(c)) return CharacterKind::kPunctuation;
  return is_ideograph(c) ? CharacterKind::kIdeograph : CharacterKind::kOther;
}

std::vector<int32_t> fold_characters(std::string_view text, CharacterFolding folding) {
  std::vector<int32_t> out;
  out.reserve(text.size());
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const auto size = static_cast<utf8proc_ssize_t>(text.size());
  for (utf8proc_ssize_t at = 0; at < size;) {
    utf8proc_int32_t c = 0;
    const utf8proc_ssize_t used = utf8proc_iterate(bytes + at, size - at, &c);
    if (used <= 0) {
      ++at;
      continue;
    }
    at += used;
    // Eighteen is the most that one character decomposes to.
    utf8proc_int32_t parts[32];
    utf8proc_ssize_t count = 1;
    parts[0] = c;
    if (folding.strips_marks) {
      int last_class = 0;
      count = utf8proc_decompose_char(c, parts, 32, UTF8PROC_DECOMPOSE, &last_class);
      if (count < 0 || count > 32) continue;
    }
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      if (folding.strips_marks && utf8proc_category(parts[i]) == UTF8PROC_CATEGORY_MN) continue;
      out.push_back(folding.lowers ? utf8proc_tolower(parts[i]) : parts[i]);
    }
  }
  return out;
}

void append_utf8(int32_t code_point, std::string& out) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t count = utf8proc_encode_char(code_point, bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
}

}  // namespace pawl::text
