// SPDX-License-Identifier: Apache-2.0
// The Unigram kind of SentencePiece ("t5" in the file): of all ways to cut the text into entries
// the one whose scores have the largest sum. A space is written as U+2581. Source: arXiv 1804.10959
// §3.2, and the conventions of the published implementation.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/char_map.h"
#include "text/tokenizer.h"

namespace pawl::text {

class UnigramTokenizer final : public Tokenizer {
 public:
  // char_map: of the file, whose bytes it points into. Error: there is no unknown token.
  static base::Result<std::unique_ptr<UnigramTokenizer>> create(Vocab vocab, CharMap char_map);

 protected:
  base::Result<void> encode_text(std::string_view text, bool begins_words,
                                 std::vector<TokenId>& ids) const override;
  void append_text(TokenId id, std::string& out) const override;

 private:
  UnigramTokenizer(Vocab vocab, CharMap char_map);

  std::string normalize(std::string_view text, bool begins_words) const;
  float score(TokenId id) const;
  // f(id, bytes) for each of the sorted entries that `text` begins with, the shortest first.
  template <typename F>
  void for_each_prefix(const std::vector<TokenId>& sorted, std::string_view text, F f) const;

  CharMap char_map_;
  // Entries by their bytes: those that a text may be cut into, and of these the user-defined ones.
  std::vector<TokenId> by_text_, user_by_text_;
  float greatest_score_ = 0;  // of a normal entry
  float unknown_score_ = 0;   // of a character that no entry stands for
};

}  // namespace pawl::text
