// SPDX-License-Identifier: Apache-2.0
// The values of keywords, read and checked: what demands and refutations are made of.
#include <fmt/format.h>

#include <cmath>

#include "base/utf8.h"
#include "schema/keywords.h"
#include "schema/pattern.h"

namespace pawl::schema {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

uint8_t type_bit(std::string_view name) {
  constexpr std::pair<std::string_view, uint8_t> kTypes[] = {
      {"null", kNullBit},       {"boolean", kTrueBit | kFalseBit},
      {"integer", kIntegerBit}, {"number", kNumberBits},
      {"string", kStringBit},   {"array", kArrayBit},
      {"object", kObjectBit}};
  for (const auto& [known, bits] : kTypes) {
    if (known == name) return bits;
  }
  return 0;
}

}  // namespace

Error refusal(ErrorCode code, const Document& document, SchemaId schema, std::string_view keyword,
              std::string_view what) {
  const std::string path = document.path(schema);
  return {
      code,
      fmt::format("'{}' at {}: {}", keyword, base::quoted_text(path.empty() ? "/" : path), what),
      path};
}

Error bad(const Document& document, SchemaId schema, std::string_view keyword,
          std::string_view what) {
  return refusal(ErrorCode::kInvalidArgument, document, schema, keyword, what);
}

bool has_keyword(const Document& document, SchemaId schema, std::string_view keyword) {
  const Json& json = document.at(schema);
  if (document.draft() <= Draft::k7 && json.find("$ref") != nullptr) return keyword == "$ref";
  return json.find(keyword) != nullptr;
}

Result<std::vector<NamedSchema>> schema_members(Document& document, SchemaId schema,
                                                std::string_view keyword) {
  std::vector<NamedSchema> found;
  if (!has_keyword(document, schema, keyword)) return found;
  const Json& value = *document.at(schema).find(keyword);
  if (value.as_object() == nullptr) return bad(document, schema, keyword, "is no object");
  const SchemaId holder = document.child(schema, value, keyword);
  for (const auto& [name, member] : *value.as_object()) {
    found.push_back({name, document.child(holder, member, name)});
  }
  return found;
}

Result<std::vector<SchemaId>> schema_items(Document& document, SchemaId schema,
                                           std::string_view keyword) {
  std::vector<SchemaId> found;
  if (!has_keyword(document, schema, keyword)) return found;
  const Json& value = *document.at(schema).find(keyword);
  if (value.as_array() == nullptr) return bad(document, schema, keyword, "is no array");
  const SchemaId holder = document.child(schema, value, keyword);
  for (const Json& item : *value.as_array()) {
    found.push_back(document.child(holder, item, std::to_string(found.size())));
  }
  return found;
}

Result<std::optional<SchemaId>> one_schema(Document& document, SchemaId schema,
                                           std::string_view keyword) {
  if (!has_keyword(document, schema, keyword)) return std::optional<SchemaId>();
  const Json& value = *document.at(schema).find(keyword);
  if (value.as_object() == nullptr && !value.to_bool()) {
    return bad(document, schema, keyword, "is no schema");
  }
  return std::optional(document.child(schema, value, keyword));
}

Result<std::vector<std::string>> name_list(const Document& document, SchemaId schema,
                                           std::string_view keyword, const Json& list) {
  if (list.as_array() == nullptr) return bad(document, schema, keyword, "is no array");
  std::vector<std::string> names;
  for (const Json& name : *list.as_array()) {
    if (name.as_string() == nullptr) return bad(document, schema, keyword, "lists no string");
    names.push_back(*name.as_string());
  }
  return names;
}

Result<std::optional<int64_t>> count_of(const Document& document, SchemaId schema,
                                        std::string_view keyword) {
  if (!has_keyword(document, schema, keyword)) return std::optional<int64_t>();
  const Json& value = *document.at(schema).find(keyword);
  std::optional<int64_t> count = value.to_int64();
  const auto number = value.to_double();
  if (!count && number && *number >= 0 && *number == std::floor(*number)) {
    // Larger than any value that can be: nothing is that long.
    count = *number < 9e15 ? static_cast<int64_t>(*number) : int64_t{9'000'000'000'000'000};
  }
  if (!count || *count < 0) return bad(document, schema, keyword, "is no count");
  return count;
}

Result<uint8_t> type_bits(const Document& document, SchemaId schema) {
  if (!has_keyword(document, schema, "type")) return uint8_t{kAllBits};
  const Json& value = *document.at(schema).find("type");
  std::vector<std::string> names;
  if (value.as_string() != nullptr) {
    names.push_back(*value.as_string());
  } else {
    PAWL_TRY(names, name_list(document, schema, "type", value));
  }
  uint8_t bits = 0;
  for (const std::string& name : names) {
    const uint8_t one = type_bit(name);
    if (one == 0) {
      return bad(document, schema, "type", base::quoted_text(name) + " is no type");
    }
    bits |= one;
  }
  return bits;
}

Result<ItemRule> item_rule(Document& document, SchemaId schema) {
  ItemRule rule;
  const Json* items = document.at(schema).find("items");
  const bool is_list = items != nullptr && items->as_array() != nullptr;
  const char* list = is_list ? "items" : "prefixItems";
  const char* rest = is_list ? "additionalItems" : "items";
  if (is_list || document.draft() >= Draft::k2020) {
    PAWL_TRY(const std::vector<SchemaId> prefix, schema_items(document, schema, list));
    for (const SchemaId item : prefix) rule.prefix.emplace_back(Literal{item});
  }
  PAWL_TRY(const auto others, one_schema(document, schema, rest));
  if (others) rule.rest = Literal{*others};
  rule.evaluates_rest = others.has_value();
  return rule;
}

Result<MemberRule> member_rule(Document& document, SchemaId schema) {
  MemberRule rule;
  PAWL_TRY(const auto named, schema_members(document, schema, "properties"));
  for (const NamedSchema& one : named) rule.named.push_back({one.name, Literal{one.schema}});
  PAWL_TRY(const auto patterns, schema_members(document, schema, "patternProperties"));
  for (const NamedSchema& one : patterns) {
    auto language = pattern_language(one.name);
    if (!language.ok()) {
      return refusal(language.error().code, document, schema, "patternProperties",
                     language.error().message);
    }
    rule.patterns.push_back({one.name, std::move(*language), Literal{one.schema}});
  }
  PAWL_TRY(const auto rest, one_schema(document, schema, "additionalProperties"));
  if (rest) rule.rest = Literal{*rest};
  rule.evaluates_rest = rest.has_value();
  return rule;
}

bool is_reference(Draft draft, std::string_view keyword) {
  return keyword == "$ref" || (keyword == "$dynamicRef" && draft == Draft::k2020) ||
         (keyword == "$recursiveRef" && draft == Draft::k2019);
}

Result<std::optional<SchemaId>> referred(Document& document, SchemaId schema,
                                         std::string_view keyword) {
  if (!is_reference(document.draft(), keyword) || !has_keyword(document, schema, keyword)) {
    return std::optional<SchemaId>();
  }
  const std::string* reference = document.at(schema).find(keyword)->as_string();
  if (reference == nullptr) return bad(document, schema, keyword, "is no string");
  auto target = keyword == "$ref" ? document.resolve(schema, *reference)
                                  : document.resolve_dynamic(schema, *reference);
  if (!target.ok()) {
    return refusal(target.error().code, document, schema, keyword, target.error().message);
  }
  return std::optional(*target);
}

Result<std::vector<Dependency>> dependencies(Document& document, SchemaId schema,
                                             std::string_view keyword) {
  std::vector<Dependency> found;
  const bool is_new = keyword == "dependentRequired" || keyword == "dependentSchemas";
  const bool is_known = is_new ? document.draft() >= Draft::k2019 : keyword == "dependencies";
  if (!is_known) return found;
  PAWL_TRY(const auto members, schema_members(document, schema, keyword));
  for (const NamedSchema& member : members) {
    const Json& value = document.at(member.schema);
    Dependency one{member.name, {}, {}};
    if (value.as_array() != nullptr) {
      PAWL_TRY(one.required, name_list(document, schema, keyword, value));
    } else if (value.as_object() != nullptr || value.to_bool()) {
      one.schema = member.schema;
    } else {
      return bad(document, schema, keyword, "holds neither names nor a schema");
    }
    found.push_back(std::move(one));
  }
  return found;
}

}  // namespace pawl::schema
