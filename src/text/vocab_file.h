// SPDX-License-Identifier: Apache-2.0
// Reads `tokenizer.ggml.*` of a file into a VocabSource.
#pragma once

#include "base/result.h"
#include "gguf/metadata.h"
#include "text/vocab.h"

namespace pawl::text {

// What holds where the file is silent; it depends on the algorithm.
struct VocabDefaults {
  bool add_bos = false;
  bool add_space_prefix = false;
  bool needs_scores = false;
  // Texts of control tokens that have the role when no key names one; empty: none.
  std::string_view bos;
  std::string_view eos;
};

// The texts stay views of the file. Errors name the key: missing, of the wrong type, a token type
// or score that means nothing, a special id outside the vocabulary.
base::Result<VocabSource> read_vocab(const gguf::Metadata& metadata, const VocabDefaults& defaults);

}  // namespace pawl::text
