// SPDX-License-Identifier: Apache-2.0
// Byte-level merging ("gpt2" in the file): the text is cut into words, each word begins as its
// bytes, and the neighbours whose merge comes first in the file's list are merged first. Source:
// arXiv 1508.07909 §3.2, and the published GPT-2 encoder.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/merge_table.h"
#include "text/pretokenizer.h"
#include "text/tokenizer.h"

namespace pawl::text {

class BpeTokenizer final : public Tokenizer {
 public:
  // Error: a byte that has no entry, where there is no unknown token to stand for it.
  static base::Result<std::unique_ptr<BpeTokenizer>> create(Vocab vocab, MergeTable merges,
                                                            Pretokenizer pretokenizer);

 protected:
  base::Result<void> encode_text(std::string_view text, bool begins_words,
                                 std::vector<TokenId>& ids) const override;
  void append_text(TokenId id, std::string& out) const override;

 private:
  using ByteIds = std::array<TokenId, 256>;

  BpeTokenizer(Vocab vocab, MergeTable merges, Pretokenizer pretokenizer, const ByteIds& byte_ids);

  TokenId find_whole(std::string_view word) const;
  void merge_stretch(std::string_view stretch, MergeList& list, std::vector<TokenId>& ids) const;
  void encode_word(std::string_view word, MergeList& list, std::vector<TokenId>& ids) const;

  MergeTable merges_;
  Pretokenizer pretokenizer_;
  ByteIds byte_ids_;
};

}  // namespace pawl::text
