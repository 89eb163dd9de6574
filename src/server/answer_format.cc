// SPDX-License-Identifier: Apache-2.0
#include "server/answer_format.h"

#include <fmt/format.h>

#include <array>

#include "server/fields.h"

namespace pawl::server {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;
using Kind = grammar::Description::Kind;

namespace {

using Found = std::optional<AnswerFormat>;

Error wrong(std::string where, std::string_view what) {
  return {ErrorCode::kInvalidArgument, fmt::format("'{}' {}", where, what), std::move(where)};
}

bool is_schema(const Json& value) {
  return value.as_object() != nullptr || value.to_bool().has_value();
}

Result<Found> schema_format(std::string field, const Json* schema) {
  if (schema == nullptr || !is_schema(*schema)) return wrong(std::move(field), "is no JSON Schema");
  return Found(AnswerFormat{std::move(field), {Kind::kJsonSchema, schema->dump()}});
}

// {"type": "json_schema", "json_schema": {"name", "schema", "strict"}} as the API has it; the
// schema may stand in the place of that object, or in a member "schema" beside the type.
Result<Found> read_json_schema(const Json& format) {
  const Json* inner = format.find("json_schema");
  if (inner == nullptr) return schema_format("response_format.schema", format.find("schema"));
  if (inner->as_object() == nullptr) return wrong("response_format.json_schema", "is no object");
  const Json* schema = inner->find("schema");
  if (schema == nullptr) return wrong("response_format.json_schema.schema", "is missing");
  for (const auto& [name, value] : *inner->as_object()) {
    const bool is_known =
        name == "name" || name == "schema" || name == "strict" || name == "description";
    if (!is_known) return wrong("response_format.json_schema." + name, "is not a field of it");
  }
  return schema_format("response_format.json_schema.schema", schema);
}

Result<Found> read_response_format(const Json& format) {
  if (format.as_object() == nullptr) return wrong("response_format", "is no object");
  const Json* type = format.find("type");
  const std::string* name = type == nullptr ? nullptr : type->as_string();
  if (name == nullptr) return wrong("response_format.type", "is missing or no string");
  if (*name == "text") return Found();
  if (*name == "json_schema") return read_json_schema(format);
  if (*name == "json_object") {
    const Json* schema = format.find("schema");
    if (schema != nullptr) return schema_format("response_format.schema", schema);
    return Found(AnswerFormat{"response_format", {Kind::kJsonObject, ""}});
  }
  return wrong("response_format.type", "is not text, json_object or json_schema");
}

Result<Found> read_grammar(std::string field, const Json& value) {
  const std::string* text = value.as_string();
  if (text == nullptr) return wrong(std::move(field), "is no string");
  if (text->find_first_not_of(" \t\r\n") == std::string::npos) {
    return wrong(std::move(field), "is empty");
  }
  // ::= stands in every rule of GBNF and in none of Lark.
  const bool is_gbnf = text->find("::=") != std::string::npos;
  return Found(AnswerFormat{std::move(field), {is_gbnf ? Kind::kGbnf : Kind::kLark, *text}});
}

Result<Found> read_regex(std::string field, const Json& value) {
  if (value.as_string() == nullptr) return wrong(std::move(field), "is no string");
  return Found(AnswerFormat{std::move(field), {Kind::kRegex, *value.as_string()}});
}

Result<Found> read_choice(std::string field, const Json& value) {
  if (value.as_array() == nullptr) return wrong(std::move(field), "is no array of strings");
  return Found(AnswerFormat{std::move(field), {Kind::kChoice, value.dump()}});
}

Result<Found> read_schema(std::string field, const Json& value) {
  if (value.as_string() == nullptr) return schema_format(std::move(field), &value);
  return Found(AnswerFormat{std::move(field), {Kind::kJsonSchema, *value.as_string()}});
}

Result<Found> read_response(std::string, const Json& value) {
  return read_response_format(value);
}

struct FormatField {
  const char* name;
  Result<Found> (*read)(std::string, const Json&);
};
constexpr std::array kFormatFields = {FormatField{"response_format", read_response},
                                      FormatField{"grammar", read_grammar},
                                      FormatField{"regex", read_regex},
                                      FormatField{"choice", read_choice},
                                      FormatField{"json_schema", read_schema},
                                      FormatField{"guided_json", read_schema},
                                      FormatField{"guided_regex", read_regex},
                                      FormatField{"guided_choice", read_choice},
                                      FormatField{"guided_grammar", read_grammar}};

}  // namespace

Result<Found> read_answer_format(const Json& body) {
  const FieldReader fields(body);
  Found found;
  for (const FormatField& field : kFormatFields) {
    const Json* value = fields.find(field.name);
    if (value == nullptr) continue;
    PAWL_TRY(Found format, field.read(field.name, *value));
    if (!format) continue;
    if (found) {
      return wrong(field.name, fmt::format("and '{}' exclude each other", found->field));
    }
    found = std::move(format);
  }
  return found;
}

Result<bool> read_json_budget(const Json& body, const AnswerFormat* format) {
  const FieldReader fields(body);
  const Json* value = fields.find("json_budget");
  if (value == nullptr) return false;
  if (value->as_string() == nullptr || *value->as_string() != "close") {
    return wrong("json_budget", "can be \"close\", nothing else");
  }
  const bool is_json = format != nullptr && (format->description.kind == Kind::kJsonSchema ||
                                             format->description.kind == Kind::kJsonObject);
  if (!is_json) {
    return wrong("json_budget",
                 "closes JSON: it asks for a response_format, a json_schema or a guided_json");
  }
  // A stop string ends an answer anywhere, and the others may take the ids away that close it.
  for (const char* name :
       {"stop", "ignore_eos", "min_tokens", "banned_token_ids", "allowed_token_ids"}) {
    const Json* other = fields.find(name);
    const bool is_idle = other == nullptr || other->to_bool() == false || other->to_int64() == 0 ||
                         (other->as_array() != nullptr && other->as_array()->empty());
    if (!is_idle) return wrong("json_budget", fmt::format("and '{}' exclude each other", name));
  }
  return true;
}

}  // namespace pawl::server
