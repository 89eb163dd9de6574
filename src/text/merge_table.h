// SPDX-License-Identifier: Apache-2.0
// The merges of a byte-level vocabulary: which two tokens become which, and in what order of
// preference. One open-addressing table, made once.
//
// Threads: immutable after create; any number of readers.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "gguf/metadata.h"
#include "text/merge_list.h"
#include "text/vocab.h"

namespace pawl::text {

class MergeTable {
 public:
  // `merges`: "left right", best first. Errors name entry number and text: no space between two
  // texts, or one of left, right and both joined is not in the vocabulary; and pairs made to
  // collide.
  static base::Result<MergeTable> create(const gguf::StringArray& merges, const Vocab& vocab);

  PairMerge find(TokenId left, TokenId right) const;

  // Whether any merge joins a text that ends with the one byte to a text that begins with the
  // other. Where two neighbours may not, a word falls into parts that never meet.
  bool can_join(uint8_t left, uint8_t right) const {
    return joints_.test(size_t{left} << 8 | right);
  }

 private:
  struct Slot {
    TokenId left = kNoToken;  // kNoToken: free
    TokenId right = kNoToken;
    PairMerge merge;
  };

  static size_t hash(TokenId left, TokenId right);
  base::Result<void> insert(TokenId left, TokenId right, PairMerge merge);

  std::bitset<256 * 256> joints_;
  std::vector<Slot> slots_;  // a power of two, at most 2/3 full
};

}  // namespace pawl::text
