// SPDX-License-Identifier: Apache-2.0
// The flags that say what an answer is to look like.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "grammar/compiler.h"
#include "text/tokenizer.h"

namespace pawl::cli {

struct FormatFlags {
  std::optional<std::string> schema, regex, grammar;
  std::vector<std::string> choices;
  std::string json_whitespace = "none";
  std::optional<std::string> json_budget;

  void declare(CommandLine& line);
  bool is_given() const { return schema || regex || grammar || !choices.empty(); }

  // Null: no flag was given. thinks: the prompt opens the model's thinking. Errors of the flags, of
  // reading a file, and of the compiler, naming the flag. The tokenizer outlives what comes back.
  base::Result<std::shared_ptr<const grammar::Compiled>> compile(const CommandLine& line,
                                                                 const text::Tokenizer& tokenizer,
                                                                 bool thinks) const;

  // Of one answer of at most `most_tokens`. Error: --json-budget, and it cannot be kept.
  base::Result<std::shared_ptr<policy::Constraint>> constraint(const grammar::Compiled& format,
                                                               int64_t most_tokens) const;
};

}  // namespace pawl::cli
