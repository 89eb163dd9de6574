// SPDX-License-Identifier: Apache-2.0
// The table of characters that SentencePiece compiles into a file: sequences of characters and what
// takes their place. The bytes:
//   uint32 size | size bytes: the units of a double array | texts, each ended by a zero byte
// A unit, from its lowest bit: label 8 | has a leaf 1 | shifts its offset by 8 1 | offset 21; of a
// leaf: where its text begins, 31 bits (the published Darts-clone layout).
//
// Lifetime: a view of the bytes. Threads: immutable after create.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace pawl::text {

class CharMap {
 public:
  CharMap() = default;  // replaces nothing

  // Error: sizes that do not fit the bytes, naming both.
  static base::Result<CharMap> create(std::span<const std::byte> bytes);

  struct Match {
    size_t bytes = 0;  // of the text; 0: nothing is replaced here
    std::string_view replacement;
  };
  // The longest sequence at the beginning of `text`.
  Match longest(std::string_view text) const;

 private:
  uint32_t unit(size_t at) const;

  std::span<const std::byte> units_;
  std::string_view texts_;
};

}  // namespace pawl::text
