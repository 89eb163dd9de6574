// SPDX-License-Identifier: Apache-2.0
// The keywords of JSON Schema as steps: what a schema demands, and what it means that it does not
// hold. Used by expand.cc.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/branch.h"
#include "schema/document.h"

namespace pawl::schema {

// What the steps of one schema are made with.
struct KeywordContext {
  Document& document;
  std::vector<std::string>& notes;
  // No value obeys both.
  std::function<base::Result<bool>(Literal, Literal)> exclude_each_other;
  bool is_evaluated_around;  // a schema around this one asks what was evaluated
};

// Errors name keyword and path.

// One keyword that applies other schemas: in applicators.cc. None for a keyword that does not.
base::Result<Steps> applied(SchemaId schema, std::string_view keyword, KeywordContext& context);
base::Result<Steps> demands(SchemaId schema, KeywordContext& context);
base::Result<Steps> refutations(SchemaId schema, KeywordContext& context);
// Of unevaluatedProperties or unevaluatedItems: it does not hold, and what else the schema demands
// does, but for the other one of the two. REQUIRES: the schema has the keyword
base::Result<Steps> demands_but(SchemaId schema, std::string_view keyword, KeywordContext& context);

// -- shared by both
base::Error refusal(base::ErrorCode code, const Document& document, SchemaId schema,
                    std::string_view keyword, std::string_view what);
// The same for what breaks the syntax.
base::Error bad(const Document& document, SchemaId schema, std::string_view keyword,
                std::string_view what);
// A keyword's members and items as schemas.
struct NamedSchema {
  std::string name;
  SchemaId schema;
};
base::Result<std::vector<NamedSchema>> schema_members(Document& document, SchemaId schema,
                                                      std::string_view keyword);
base::Result<std::vector<SchemaId>> schema_items(Document& document, SchemaId schema,
                                                 std::string_view keyword);
base::Result<std::optional<SchemaId>> one_schema(Document& document, SchemaId schema,
                                                 std::string_view keyword);
base::Result<std::vector<std::string>> name_list(const Document& document, SchemaId schema,
                                                 std::string_view keyword, const base::Json& list);
base::Result<std::optional<int64_t>> count_of(const Document& document, SchemaId schema,
                                              std::string_view keyword);
base::Result<uint8_t> type_bits(const Document& document, SchemaId schema);
// minimum, maximum, their exclusive forms and multipleOf, as languages.
base::Result<std::vector<Language>> number_demands(const Document& document, SchemaId schema);
// pattern and format, as languages.
base::Result<std::vector<Language>> string_demands(const Document& document, SchemaId schema,
                                                   std::vector<std::string>* notes);
base::Result<ItemRule> item_rule(Document& document, SchemaId schema);
base::Result<MemberRule> member_rule(Document& document, SchemaId schema);
// What enum or const lists: simple values by themselves, arrays and objects as schemas.
struct ValueList {
  uint8_t types = 0;
  std::vector<std::string> numbers, strings;  // spellings; decoded texts
  std::vector<Language> number_spellings;     // every spelling of each number
  std::vector<SchemaId> structures;
};
base::Result<ValueList> value_list(Document& document, SchemaId schema, std::string_view keyword);
// $ref and its like.
bool is_reference(Draft draft, std::string_view keyword);
// Where it leads; nothing when there is none.
base::Result<std::optional<SchemaId>> referred(Document& document, SchemaId schema,
                                               std::string_view keyword);
// The members of a schema that count: with $ref, in old drafts, no other.
bool has_keyword(const Document& document, SchemaId schema, std::string_view keyword);
// What `dependencies` or one of its two successors says: if the member is there, these are and this
// holds. None of another keyword.
struct Dependency {
  std::string name;
  std::vector<std::string> required;
  std::optional<SchemaId> schema;
};
base::Result<std::vector<Dependency>> dependencies(Document& document, SchemaId schema,
                                                   std::string_view keyword);

}  // namespace pawl::schema
