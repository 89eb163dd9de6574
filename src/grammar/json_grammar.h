// SPDX-License-Identifier: Apache-2.0
// JSON texts that obey a schema, as a grammar: members in the order of the schema, no member twice
// among those that the schema names, strings and numbers in one spelling each.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "grammar/form.h"
#include "grammar/repeat_guard.h"
#include "schema/expand.h"

namespace pawl::grammar {

struct JsonGrammarText {
  std::string text;                // the JSON form of bridge.h
  std::vector<std::string> notes;  // what of the schema is not enforced
  GuardShapes shapes;              // what must not repeat
  int draft = 2020;
};

enum class Whitespace {
  kNone,  // compact: no white space between lexemes
  kAny,   // up to 20 characters of it
};

// Errors: kInvalidArgument for what is no schema or what nothing obeys, kUnsupported for what
// cannot be enforced exactly; the message names keyword and path, `where` is the path.
base::Result<JsonGrammarText> json_grammar(const base::Json& schema, Whitespace whitespace);

base::Json any_object_schema();
// What Whitespace::kAny allows between two lexemes.
schema::Language any_whitespace();

// Whether languages are empty, asked once each. Threads: none.
class CachedOracle final : public schema::LanguageOracle {
 public:
  base::Result<bool> is_empty(const schema::Language& language) override;

 private:
  std::map<std::string, bool> known_;
};

}  // namespace pawl::grammar
