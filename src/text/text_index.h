// SPDX-License-Identifier: Apache-2.0
// From the bytes of a token to its id: one open-addressing table over texts that live elsewhere.
// Built once; nothing is allocated per entry, so 262,144 entries take milliseconds.
//
// Threads: immutable after create; any number of readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token.h"

namespace pawl::text {

using base::TokenId;

inline constexpr TokenId kNoToken = -1;

class TextIndex {
 public:
  TextIndex() = default;

  // Every text but the empty ones, which nothing can look up. `texts` outlives the index.
  // Errors: two entries with the same text, both named; more than 2^30 entries; texts made to
  // collide.
  static base::Result<TextIndex> create(std::span<const std::string_view> texts);

  // The id of a text, or kNoToken.
  TokenId find(std::string_view text) const;

  size_t max_bytes() const { return max_bytes_; }  // of the longest text

 private:
  struct Slot {
    uint32_t hash;   // upper half of the text's hash
    uint32_t entry;  // id + 1; 0: free
  };

  std::span<const std::string_view> texts_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  size_t max_bytes_ = 0;
};

// For tables of our own: mixes well, says nothing across machines.
uint64_t hash_bytes(std::string_view bytes);

}  // namespace pawl::text
