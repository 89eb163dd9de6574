// SPDX-License-Identifier: Apache-2.0
// The SentencePiece kind of merging ("llama" in the file): the whole text is one word, a space is
// written as U+2581, the pair whose text has the highest score is merged first, and what no entry
// stands for becomes byte tokens. Source: arXiv 1808.06226, and the file format's conventions.
#pragma once

#include <array>
#include <bitset>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

namespace pawl::text {

class SpmTokenizer final : public Tokenizer {
 public:
  // Errors name entry number and text: a byte entry that is not `<0x00>` to `<0xFF>`, two for one
  // byte; and the byte, for one that has no entry.
  static base::Result<std::unique_ptr<SpmTokenizer>> create(Vocab vocab);

 protected:
  base::Result<void> encode_text(std::string_view text, bool begins_words,
                                 std::vector<TokenId>& ids) const override;
  void append_text(TokenId id, std::string& out) const override;

 private:
  using ByteIds = std::array<TokenId, 256>;

  SpmTokenizer(Vocab vocab, const ByteIds& byte_ids);

  static base::Result<ByteIds> find_byte_ids(const Vocab& vocab);
  void note_joints();
  bool can_merge_into(TokenId id) const;
  size_t next_cut(std::string_view escaped, size_t begin) const;
  void merge_stretch(std::string_view escaped, class MergeList& list,
                     std::vector<TokenId>& ids) const;

  ByteIds byte_ids_;
  // Whether a byte may be followed by another inside some entry, U+2581 counted as one space. Where
  // two neighbours may not, no merge can ever cross, and the two sides are merged on their own.
  std::bitset<256 * 256> joints_;
};

}  // namespace pawl::text
