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
  // The hash's upper bits over those that hold any id + 1; the latter are 0 in a free slot. Half of
  // what two words would take: with 262,144 entries 2 MB.
  using Slot = uint32_t;

  Slot id_mask() const { return (Slot{1} << id_bits_) - 1; }
  TokenId id_of(Slot slot) const { return static_cast<TokenId>(slot & id_mask()) - 1; }
  bool is_text(Slot slot, uint64_t hash, std::string_view text) const {
    return slot >> id_bits_ == hash >> (32 + id_bits_) &&
           texts_[static_cast<size_t>(id_of(slot))] == text;
  }

  std::span<const std::string_view> texts_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  int id_bits_ = 0;          // 1..31
  size_t max_bytes_ = 0;
};

// For tables of our own: mixes well, says nothing across machines.
uint64_t hash_bytes(std::string_view bytes);

}  // namespace pawl::text
