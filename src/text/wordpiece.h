// SPDX-License-Identifier: Apache-2.0
// The WordPiece kind ("bert" in the file): words at spaces and punctuation, each cut from its
// beginning into the longest entries there are; a word that cannot be is one unknown token. An
// entry that begins a word has U+2581 before it. Source: arXiv 1810.04805 and its published
// tokenizer.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/normalizer.h"
#include "text/tokenizer.h"

namespace pawl::text {

class WordPieceTokenizer final : public Tokenizer {
 public:
  // Error: there is no unknown token.
  static base::Result<std::unique_ptr<WordPieceTokenizer>> create(Vocab vocab,
                                                                  CharacterFolding folding);

 protected:
  base::Result<void> encode_text(std::string_view text, bool begins_words,
                                 std::vector<TokenId>& ids) const override;
  void append_text(TokenId id, std::string& out) const override;

 private:
  WordPieceTokenizer(Vocab vocab, CharacterFolding folding);

  // word: U+2581 and `characters` characters.
  void encode_word(std::string_view word, size_t characters, std::vector<TokenId>& ids) const;

  CharacterFolding folding_;
};

}  // namespace pawl::text
