// SPDX-License-Identifier: Apache-2.0
#include "text/spm.h"

#include <bit>
#include <cstdint>
#include <utility>

#include "base/utf8.h"
#include "text/merge_list.h"
#include "text/space_mark.h"

namespace pawl::text {
namespace {

using base::Error;
using base::ErrorCode;

// Larger scores first: the smaller key. Any two floats keep their order, and no number gives
// kNever.
uint32_t key_of_score(float score) {
  const uint32_t bits = std::bit_cast<uint32_t>(score + 0.0f);  // -0 becomes 0
  const uint32_t ascending = bits >> 31 ? ~bits : bits | 0x80000000u;
  return ~ascending;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The byte that `<0xNN>` names, or -1.
int byte_of(std::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return -1;
  const int high = hex_digit(text[3]);
  const int low = hex_digit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::string escape(std::string_view text, bool prefix) {
  std::string escaped;
  escaped.reserve(text.size() + text.size() / 2 + kSpace.size());
  if (prefix) escaped += kSpace;
  for (char c : text) {
    if (c == ' ') {
      escaped += kSpace;
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// The character at `at`; a byte that begins none counts as one.
size_t character_bytes(std::string_view text, size_t at) {
  const size_t bytes = base::utf8_character_bytes(text.substr(at, 4));
  return bytes == 0 ? 1 : bytes;
}

bool is_space_at(std::string_view text, size_t at) {
  return text.substr(at, 3) == kSpace;
}

// The last byte of the character that ends at `end`, and the first of the one that begins at
// `begin`.
uint8_t last_byte(std::string_view text, size_t end) {
  return end >= 3 && is_space_at(text, end - 3) ? ' ' : static_cast<uint8_t>(text[end - 1]);
}
uint8_t first_byte(std::string_view text, size_t begin) {
  return is_space_at(text, begin) ? ' ' : static_cast<uint8_t>(text[begin]);
}

size_t joint(std::string_view text, size_t at) {
  return size_t{last_byte(text, at)} << 8 | first_byte(text, at);
}

}  // namespace

SpmTokenizer::SpmTokenizer(Vocab vocab, const ByteIds& byte_ids)
    : Tokenizer(std::move(vocab)), byte_ids_(byte_ids) {
  note_joints();
}

base::Result<std::unique_ptr<SpmTokenizer>> SpmTokenizer::create(Vocab vocab) {
  PAWL_TRY(const ByteIds byte_ids, find_byte_ids(vocab));
  return std::unique_ptr<SpmTokenizer>(new SpmTokenizer(std::move(vocab), byte_ids));
}

base::Result<SpmTokenizer::ByteIds> SpmTokenizer::find_byte_ids(const Vocab& vocab) {
  ByteIds byte_ids;
  byte_ids.fill(kNoToken);
  for (size_t entry = 0; entry < vocab.size(); ++entry) {
    const TokenId id = static_cast<TokenId>(entry);
    // A file without types says by the text alone what is a byte.
    if (vocab.has_types() && vocab.type(id) != TokenType::kByte) continue;
    const int byte = byte_of(vocab.text(id));
    if (byte < 0 && !vocab.has_types()) continue;
    const std::string name =
        "entry " + std::to_string(id) + " " + base::quoted_text(vocab.text(id));
    if (byte < 0) {
      return Error{ErrorCode::kBadFile,
                   name + " has the type of a byte and is not <0x00> to <0xFF>",
                   "tokenizer.ggml.tokens"};
    }
    TokenId& slot = byte_ids[static_cast<size_t>(byte)];
    if (slot != kNoToken) {
      return Error{ErrorCode::kBadFile,
                   name + " is the second for its byte, after entry " + std::to_string(slot),
                   "tokenizer.ggml.tokens"};
    }
    slot = id;
  }
  for (size_t byte = 0; byte < byte_ids.size(); ++byte) {
    if (byte_ids[byte] != kNoToken) continue;
    constexpr char kHex[] = "0123456789ABCDEF";
    return Error{ErrorCode::kBadFile,
                 std::string("no entry stands for the byte <0x") + kHex[byte >> 4] +
                     kHex[byte & 15] + ">, each of the 256 needs one",
                 "tokenizer.ggml.tokens"};
  }
  return byte_ids;
}

// Bytes, control and unknown tokens never come out of a merge: a text that spells one stays text.
bool SpmTokenizer::can_merge_into(TokenId id) const {
  const TokenType type = vocab().type(id);
  return type != TokenType::kByte && type != TokenType::kControl && type != TokenType::kUnknown;
}

void SpmTokenizer::note_joints() {
  for (size_t entry = 0; entry < vocab().size(); ++entry) {
    const TokenId id = static_cast<TokenId>(entry);
    if (!can_merge_into(id)) continue;
    const std::string_view text = vocab().text(id);
    for (size_t at = 1; at < text.size(); ++at) joints_.set(joint(text, at));
  }
}

// The end of the stretch that begins at `begin`.
size_t SpmTokenizer::next_cut(std::string_view escaped, size_t begin) const {
  size_t at = begin + character_bytes(escaped, begin);
  while (at < escaped.size() && joints_.test(joint(escaped, at)))
    at += character_bytes(escaped, at);
  return at;
}

base::Result<void> SpmTokenizer::encode_text(std::string_view text, bool begins_words,
                                             std::vector<TokenId>& ids) const {
  const std::string escaped = escape(text, begins_words && vocab().add_space_prefix());
  MergeList list;
  for (size_t begin = 0; begin < escaped.size();) {
    const size_t end = next_cut(escaped, begin);
    merge_stretch(std::string_view(escaped).substr(begin, end - begin), list, ids);
    begin = end;
  }
  return {};
}

void SpmTokenizer::merge_stretch(std::string_view escaped, MergeList& list,
                                 std::vector<TokenId>& ids) const {
  list.restart(escaped.size());
  for (size_t at = 0; at < escaped.size();) {
    const size_t bytes = character_bytes(escaped, at);
    list.add(static_cast<uint32_t>(bytes), kNoToken);
    at += bytes;
  }
  using Symbol = MergeList::Symbol;
  list.merge_all([&](const Symbol& left, const Symbol& right) {
    const TokenId id = vocab().find(escaped.substr(left.begin, list.end_of(right) - left.begin));
    if (id == kNoToken || !can_merge_into(id)) return PairMerge{};
    return PairMerge{key_of_score(vocab().score(id)), id};
  });
  list.for_each([&](const Symbol& symbol) {
    const std::string_view piece = escaped.substr(symbol.begin, list.end_of(symbol) - symbol.begin);
    TokenId id = symbol.token;
    if (id == kNoToken) id = vocab().find(piece);
    if (id != kNoToken && can_merge_into(id)) {
      ids.push_back(id);
      return;
    }
    for (char c : piece) ids.push_back(byte_ids_[static_cast<uint8_t>(c)]);
  });
}

void SpmTokenizer::append_text(TokenId id, std::string& out) const {
  std::string_view text = vocab().text(id);
  const bool is_byte =
      vocab().has_types() ? vocab().type(id) == TokenType::kByte : byte_of(text) >= 0;
  if (is_byte) {
    out.push_back(static_cast<char>(byte_of(text)));
    return;
  }
  append_with_spaces(text, out);
}

}  // namespace pawl::text
