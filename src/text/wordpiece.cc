// SPDX-License-Identifier: Apache-2.0
#include "text/wordpiece.h"

#include <algorithm>
#include <utility>

#include "text/space_mark.h"

namespace pawl::text {
namespace {

// A longer word is unknown, whatever the entries.
constexpr size_t kMaxCharacters = 100;

}  // namespace

base::Result<std::unique_ptr<WordPieceTokenizer>> WordPieceTokenizer::create(
    Vocab vocab, CharacterFolding folding) {
  if (vocab.special().unk == kNoToken) {
    return base::Error{base::ErrorCode::kBadFile, "is missing, and words without entries need it",
                       "tokenizer.ggml.unknown_token_id"};
  }
  return std::unique_ptr<WordPieceTokenizer>(new WordPieceTokenizer(std::move(vocab), folding));
}

WordPieceTokenizer::WordPieceTokenizer(Vocab vocab, CharacterFolding folding)
    : Tokenizer(std::move(vocab)), folding_(folding) {}

base::Result<void> WordPieceTokenizer::encode_text(std::string_view text, bool /*begins_words*/,
                                                   std::vector<TokenId>& ids) const {
  std::string word(kSpace);
  size_t characters = 0;
  const auto end_word = [&] {
    if (characters > 0) encode_word(word, characters, ids);
    word.resize(kSpace.size());
    characters = 0;
  };
  for (const int32_t c : fold_characters(text, folding_)) {
    const CharacterKind kind = bert_kind(c);
    if (kind == CharacterKind::kIgnored) continue;
    const bool stands_alone =
        kind == CharacterKind::kPunctuation || kind == CharacterKind::kIdeograph;
    if (kind != CharacterKind::kOther) end_word();
    if (kind == CharacterKind::kSpace) continue;
    append_utf8(c, word);
    ++characters;
    if (stands_alone) end_word();
  }
  end_word();
  return {};
}

void WordPieceTokenizer::encode_word(std::string_view word, size_t characters,
                                     std::vector<TokenId>& ids) const {
  const size_t first = ids.size();
  const auto give_up = [&] {
    ids.resize(first);
    ids.push_back(vocab().special().unk);
  };
  if (characters > kMaxCharacters) return give_up();
  while (!word.empty()) {
    size_t length = std::min(word.size(), vocab().max_text_bytes());
    TokenId id = kNoToken;
    for (; length > 0; --length) {
      id = vocab().find(word.substr(0, length));
      if (id != kNoToken && vocab().type(id) == TokenType::kNormal) break;
      id = kNoToken;
    }
    if (id == kNoToken) return give_up();
    ids.push_back(id);
    word.remove_prefix(length);
  }
}

void WordPieceTokenizer::append_text(TokenId id, std::string& out) const {
  std::string_view text = vocab().text(id);
  if (text.starts_with(kSpace)) {
    out.push_back(' ');
    text.remove_prefix(kSpace.size());
  }
  out.append(text);
}

}  // namespace pawl::text
