// SPDX-License-Identifier: Apache-2.0
// What in an output schema costs more than it gives, by the schema alone and, where answers to it
// are at hand, by what they hold. Each finding comes with a schema that does not have it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lab/schema_fields.h"

namespace pawl::lab {

// What a field is to the one who reads the answer, by its name and its schema.
enum class FieldRole {
  kReasoning,  // free text, or a list of it, whose name says that it gives reasons
  kDecision,   // one of few values: a boolean, an enum, a bounded number, or a name like "score"
  kLongText,   // free text without a bound, or one above 100 characters
  kOther,      // what is read out of the prompt: a number, a short text, an object, a list
};
FieldRole role_of(const SchemaField& field);
std::string_view field_role_name(FieldRole role);

struct LintFinding {
  std::string rule;      // "verdict before reasoning", …
  FieldPath path;        // of the field that it is about; {}: the root
  std::string text;      // one line: what is there and what it costs
  std::string proposal;  // one line: what to write in its place
  base::Json schema;     // with that proposal alone
};

struct Lint {
  std::vector<LintFinding> findings;
  base::Json proposed;  // with all of them; the schema itself where there is none
};

// Rules, in the order of the findings:
//   verdict before reasoning   a decision stands before the reasoning of its object
//   long text before decision  free text that is no reasoning stands before short fields
//   unbounded string           no maxLength, enum, const, pattern or format
//   unbounded array            no maxItems
//   open object                members may come that nobody asked for
//   optional, always filled    not required, and in each of at least 10 answers
//   name longer than value     a name of 10 characters or more, longer than any value, or, with
//                              answers, than their mean
// `answers`: to this schema; may be empty. Errors as fields_of_schema().
base::Result<Lint> lint_schema(const base::Json& schema, std::span<const base::Json> answers = {});

base::Json lint_json(const Lint& lint);

}  // namespace pawl::lab
