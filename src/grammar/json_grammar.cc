// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_grammar.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "bridge/grammar.h"
#include "grammar/json_writer.h"

namespace pawl::grammar {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;
using schema::Language;

namespace {

constexpr uint64_t kEmptinessFuel = 250'000;

}  // namespace

Result<bool> CachedOracle::is_empty(const Language& language) {
  const std::string form = language.form().dump();
  const auto known = known_.find(form);
  if (known != known_.end()) return known->second;
  PAWL_TRY(const std::optional<bool> answer, bridge::language_is_empty(form, kEmptinessFuel));
  if (!answer) {
    return Error{ErrorCode::kUnsupported,
                 "patterns that are too large to tell whether any text matches them", ""};
  }
  known_[form] = *answer;
  return *answer;
}

Json any_object_schema() {
  Json schema;
  schema["type"] = "object";
  return schema;
}

Language any_whitespace() {
  return Language::regex("[ \\t\\n\\r]{1,20}");
}

Result<JsonGrammarText> json_grammar(const Json& schema, Whitespace whitespace) {
  PAWL_TRY(const std::unique_ptr<schema::Document> document, schema::Document::create(schema));
  CachedOracle oracle;
  schema::Expander expander(*document, oracle, {});
  Form form;
  JsonWriter writer(expander, form);
  PAWL_TRY(const FormNode start, writer.value(expander.root()));
  PAWL_TRY_VOID(writer.finish());
  std::optional<Language> skip;
  if (whitespace == Whitespace::kAny) skip = any_whitespace();
  JsonGrammarText made;
  PAWL_TRY(made.text, form.text(start, skip, oracle));
  PAWL_TRY(made.shapes, writer.shapes(expander.root()));
  made.notes = expander.notes();
  made.draft = static_cast<int>(document->draft());
  return made;
}

}  // namespace pawl::grammar
