// SPDX-License-Identifier: Apache-2.0
#include "text/bpe.h"

#include <cstdint>
#include <utility>

#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/merge_list.h"

namespace pawl::text {

BpeTokenizer::BpeTokenizer(Vocab vocab, MergeTable merges, Pretokenizer pretokenizer,
                           const ByteIds& byte_ids)
    : Tokenizer(std::move(vocab)),
      merges_(std::move(merges)),
      pretokenizer_(std::move(pretokenizer)),
      byte_ids_(byte_ids) {}

base::Result<std::unique_ptr<BpeTokenizer>> BpeTokenizer::create(Vocab vocab, MergeTable merges,
                                                                 Pretokenizer pretokenizer) {
  ByteIds byte_ids;
  for (size_t byte = 0; byte < byte_ids.size(); ++byte) {
    const std::string_view text = stand_in(static_cast<uint8_t>(byte));
    TokenId id = vocab.find(text);
    if (id == kNoToken) id = vocab.special().unk;
    if (id == kNoToken) {
      return base::Error{base::ErrorCode::kBadFile,
                         "no entry '" + std::string(text) + "' for the byte " +
                             std::to_string(byte) + ", and no unknown token to stand for it",
                         "tokenizer.ggml.tokens"};
    }
    byte_ids[byte] = id;
  }
  return std::unique_ptr<BpeTokenizer>(
      new BpeTokenizer(std::move(vocab), std::move(merges), std::move(pretokenizer), byte_ids));
}

base::Result<void> BpeTokenizer::encode_text(std::string_view text, bool /*begins_words*/,
                                             std::vector<TokenId>& ids) const {
  MergeList list;
  std::vector<uint32_t> ends;
  while (!text.empty()) {
    const std::string_view valid = text.substr(0, base::utf8_valid_prefix(text));
    PAWL_TRY_VOID(pretokenizer_.split(valid, ends));
    size_t begin = 0;
    for (uint32_t end : ends) {
      encode_word(valid.substr(begin, end - begin), list, ids);
      begin = end;
    }
    text.remove_prefix(valid.size());
    // Bytes that are no character are words of their own.
    while (!text.empty() && base::utf8_character_bytes(text) == 0) {
      ids.push_back(byte_ids_[static_cast<uint8_t>(text[0])]);
      text.remove_prefix(1);
    }
  }
  return {};
}

// The token that is exactly this word, or kNoToken.
TokenId BpeTokenizer::find_whole(std::string_view word) const {
  if (word.size() > vocab().max_text_bytes()) return kNoToken;
  std::string stand_ins;
  for (char c : word) stand_ins += stand_in(static_cast<uint8_t>(c));
  const TokenId id = vocab().find(stand_ins);
  return id != kNoToken && vocab().type(id) == TokenType::kNormal ? id : kNoToken;
}

void BpeTokenizer::encode_word(std::string_view word, MergeList& list,
                               std::vector<TokenId>& ids) const {
  if (pretokenizer_.row().whole_words) {
    const TokenId whole = find_whole(word);
    if (whole != kNoToken) {
      ids.push_back(whole);
      return;
    }
  }
  for (size_t begin = 0; begin < word.size();) {
    size_t end = begin + 1;
    while (end < word.size() &&
           merges_.can_join(static_cast<uint8_t>(word[end - 1]), static_cast<uint8_t>(word[end]))) {
      ++end;
    }
    merge_stretch(word.substr(begin, end - begin), list, ids);
    begin = end;
  }
}

void BpeTokenizer::merge_stretch(std::string_view stretch, MergeList& list,
                                 std::vector<TokenId>& ids) const {
  list.restart(stretch.size());
  for (char c : stretch) list.add(1, byte_ids_[static_cast<uint8_t>(c)]);
  using Symbol = MergeList::Symbol;
  list.merge_all([this](const Symbol& left, const Symbol& right) {
    return merges_.find(left.token, right.token);
  });
  list.for_each([&](const Symbol& symbol) { ids.push_back(symbol.token); });
}

void BpeTokenizer::append_text(TokenId id, std::string& out) const {
  append_bytes_of(vocab().text(id), out);
}

}  // namespace pawl::text
