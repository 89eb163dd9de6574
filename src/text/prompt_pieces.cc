// SPDX-License-Identifier: Apache-2.0
#include "text/prompt_pieces.h"

namespace pawl::text {

std::string joined_text(const PromptPieces& pieces) {
  std::string text;
  for (const PromptPiece& piece : pieces) text += piece.text;
  return text;
}

base::Result<std::vector<TokenId>> tokenize(const PromptPieces& pieces,
                                            const Tokenizer& tokenizer) {
  const Vocab& vocab = tokenizer.vocab();
  std::vector<TokenId> ids;
  for (const PromptPiece& piece : pieces) {
    // Each piece begins the text or stands behind a control token: just where encode() takes its
    // argument to stand.
    PAWL_TRY(
        const std::vector<TokenId> more,
        tokenizer.encode(piece.text, {.add_bos = false, .parse_special = piece.from_template}));
    ids.insert(ids.end(), more.begin(), more.end());
  }
  const TokenId bos = vocab.special().bos;
  if (vocab.add_bos() && (ids.empty() || ids.front() != bos)) ids.insert(ids.begin(), bos);
  return ids;
}

}  // namespace pawl::text
