// SPDX-License-Identifier: Apache-2.0
// A prompt as a chat template leaves it: control tokens of the template, and between them text that
// can never become one, whoever wrote it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

namespace pawl::text {

struct PromptPiece {
  std::string text;            // UTF-8
  bool from_template = false;  // true: the text of one control token, and the template wrote it
};

// No two neighbours without from_template: text between two control tokens is one piece, so that it
// is cut into words as a whole.
using PromptPieces = std::vector<PromptPiece>;

// As a reader of the joined text sees it.
std::string joined_text(const PromptPieces& pieces);

// The ids of a prompt. Control tokens come from from_template pieces alone; the text between is
// encoded as if it stood between these tokens in one text. Begins with exactly one BOS if the
// template or the model's settings want one; EOS is never added. Errors of Tokenizer::encode.
base::Result<std::vector<TokenId>> tokenize(const PromptPieces& pieces, const Tokenizer& tokenizer);

}  // namespace pawl::text
