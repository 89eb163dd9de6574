// SPDX-License-Identifier: Apache-2.0
// How a text or its ids come in: from a flag, a word, a file or standard input.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token.h"

namespace pawl::cli {

// "1,2,3", spaces allowed around numbers. Errors name the word that is no id. Whether an id is in
// the vocabulary is the tokenizer's business.
base::Result<std::vector<base::TokenId>> parse_ids(std::string_view text);

// The whole file; "-" is standard input. Errors kNotFound, kIo, and kBadFile above 1 GiB.
base::Result<std::string> read_text(const std::string& path);

// Without empty ones and line ends of either kind.
std::vector<std::string> lines_of(std::string_view text);

// The prompts of data/prompts.txt, compiled in.
std::vector<std::string> built_in_prompts();

}  // namespace pawl::cli
