// SPDX-License-Identifier: Apache-2.0
// The rows of `tokenizer.ggml.pre`: which expressions cut a text into words before byte-level
// merging.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pawl::text {

enum class CutKind {
  kIsolate,        // a match is a piece; so is what stands between matches
  kThreesFromEnd,  // a match is cut on, into threes of characters counted from its end
};

// `\s` and `\S` mean Unicode's White_Space; everything else as PCRE2 has it in UTF and UCP mode.
struct Cut {
  std::string_view expression;
  CutKind kind = CutKind::kIsolate;
};

struct PretokenizerRow {
  std::string_view names;     // of `tokenizer.ggml.pre`, separated by spaces
  std::span<const Cut> cuts;  // each is applied to the pieces of the one before
  bool whole_words;           // a piece that is a token is taken whole, whatever the merges say
  bool adds_bos;              // unless `tokenizer.ggml.add_bos_token` says otherwise
  std::string_view source;    // where the expressions were published
};

// The row that has the name, or nullptr.
const PretokenizerRow* find_pretokenizer(std::string_view name);

// Whether this name stands for merging of characters instead of bytes, which is not here: no row
// would do in its place.
bool merges_characters(std::string_view name);

// All names of rows, separated by spaces.
std::string pretokenizer_names();

}  // namespace pawl::text
