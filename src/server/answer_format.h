// SPDX-License-Identifier: Apache-2.0
// What a request says the answer is to look like, in the words of the API and of those that people
// use elsewhere.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "grammar/compiler.h"

namespace pawl::server {

struct AnswerFormat {
  std::string field;  // where it was given, for errors
  grammar::Description description;
};

// Nothing: free text. Of response_format, grammar, regex, choice, json_schema and the guided_…
// fields at most one may be given. Errors kInvalidArgument, naming the field.
// REQUIRES: `body` is an object
base::Result<std::optional<AnswerFormat>> read_answer_format(const base::Json& body);

// json_budget: "close": the answer is to be whole within its tokens. Errors kInvalidArgument, naming
// it: another value, a format that is no JSON (`format`: null: none), and whatever may end an answer
// earlier or keep it from ending. REQUIRES: `body` is an object
base::Result<bool> read_json_budget(const base::Json& body, const AnswerFormat* format);

}  // namespace pawl::server
