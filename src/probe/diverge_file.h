// SPDX-License-Identifier: Apache-2.0
// Results of diverge as lines of JSON, so that a run that was stopped goes on where it was:
//
//   {"pawl_diverge": 1, "pawl", "model", "model_sha256", "prompts_sha256", "precision", "tokens",
//    "seed"}
//   {"prompt", "skipped", "changed_at", "word", "from", "to", "answer", "changed"}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "probe/diverge.h"
#include "text/tokenizer.h"

namespace pawl::probe {

inline constexpr int64_t kDivergeSchema = 1;

// One line each, without its end.
std::string case_line(const DivergeCase& one, const text::Tokenizer& tokenizer);

struct DivergeFile {
  std::vector<DivergeCase> cases;  // in the order of the file
  bool is_cut = false;             // the last line is not whole and was left out
};

// Foreign bytes. `header`: what the first line must say; a member that differs is named. Errors
// kBadFile name the line; kInvalidArgument for results of other conditions.
base::Result<DivergeFile> parse_diverge(std::string_view text, const base::Json& header);

}  // namespace pawl::probe
