// SPDX-License-Identifier: Apache-2.0
// What keywords say of simple values: bounds of numbers, patterns of strings, lists of what may be.
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "schema/format_language.h"
#include "schema/keywords.h"
#include "schema/number_language.h"
#include "schema/pattern.h"

namespace pawl::schema {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

Result<Decimal> number_of(const Document& document, SchemaId schema, std::string_view keyword,
                          const Json& value) {
  if (const auto integer = value.to_int64()) return decimal_of(*integer);
  if (const auto integer = value.to_uint64()) return decimal_of(*integer);
  const auto number = value.to_double();
  if (!number) return bad(document, schema, keyword, "is no number");
  auto made = decimal_of(*number);
  if (!made.ok()) {
    return refusal(ErrorCode::kUnsupported, document, schema, keyword, made.error().message);
  }
  return made;
}

Json list_of(const Json& value) {
  Json list = Json::array();
  list.push_back(value);
  return list;
}

// An array or object that is a value, as a schema that only it obeys, in every draft: const came
// with draft 6.
Json schema_of_value(const Json& value) {
  Json schema;
  if (const Json::Array* items = value.as_array(); items != nullptr) {
    schema["type"] = "array";
    Json prefix = Json::array();
    for (const Json& item : *items) {
      Json one;
      one["enum"] = list_of(item);
      prefix.push_back(std::move(one));
    }
    schema["items"] = std::move(prefix);
    schema["additionalItems"] = false;
    schema["minItems"] = static_cast<int64_t>(items->size());
    return schema;
  }
  schema["type"] = "object";
  Json properties = Json::object();
  Json required = Json::array();
  for (const auto& [name, member] : *value.as_object()) {
    properties[name]["enum"] = list_of(member);
    required.push_back(name);
  }
  schema["properties"] = std::move(properties);
  schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

}  // namespace

Result<std::vector<Language>> number_demands(const Document& document, SchemaId schema) {
  std::vector<Language> found;
  const auto bound = [&](std::string_view keyword, std::string_view exclusive,
                         Language (*make)(const Decimal&, bool)) -> Result<void> {
    bool is_exclusive = false;
    if (has_keyword(document, schema, exclusive)) {
      const Json& value = *document.at(schema).find(exclusive);
      if (const auto flag = value.to_bool()) {
        if (document.draft() != Draft::k4) {
          return bad(document, schema, exclusive, "is no number");
        }
        is_exclusive = *flag;
      } else {
        PAWL_TRY(const Decimal limit, number_of(document, schema, exclusive, value));
        found.push_back(make(limit, true));
      }
    }
    if (!has_keyword(document, schema, keyword)) return {};
    PAWL_TRY(const Decimal limit,
             number_of(document, schema, keyword, *document.at(schema).find(keyword)));
    found.push_back(make(limit, is_exclusive));
    return {};
  };
  PAWL_TRY_VOID(bound("minimum", "exclusiveMinimum", at_least));
  PAWL_TRY_VOID(bound("maximum", "exclusiveMaximum", at_most));
  if (has_keyword(document, schema, "multipleOf")) {
    PAWL_TRY(const Decimal step,
             number_of(document, schema, "multipleOf", *document.at(schema).find("multipleOf")));
    if (step.is_negative || step.is_zero()) {
      return bad(document, schema, "multipleOf", "is not above 0");
    }
    auto multiples = multiples_of(step);
    if (!multiples.ok()) {
      return refusal(multiples.error().code, document, schema, "multipleOf",
                     multiples.error().message);
    }
    found.push_back(std::move(*multiples));
  }
  return found;
}

Result<std::vector<Language>> string_demands(const Document& document, SchemaId schema,
                                             std::vector<std::string>* notes) {
  std::vector<Language> found;
  if (has_keyword(document, schema, "pattern")) {
    const std::string* pattern = document.at(schema).find("pattern")->as_string();
    if (pattern == nullptr) return bad(document, schema, "pattern", "is no string");
    auto language = pattern_language(*pattern);
    if (!language.ok()) {
      return refusal(language.error().code, document, schema, "pattern", language.error().message);
    }
    found.push_back(std::move(*language));
  }
  if (has_keyword(document, schema, "format")) {
    const std::string* name = document.at(schema).find("format")->as_string();
    if (name == nullptr) return bad(document, schema, "format", "is no string");
    if (auto language = format_language(*name)) {
      found.push_back(std::move(*language));
    } else if (notes != nullptr) {
      std::string note =
          fmt::format("the format {} at {} is not enforced", base::quoted_text(*name),
                      base::quoted_text(document.path(schema)));
      if (std::ranges::find(*notes, note) == notes->end()) notes->push_back(std::move(note));
    }
  }
  return found;
}

Result<ValueList> value_list(Document& document, SchemaId schema, std::string_view keyword) {
  ValueList list;
  const Json& given = *document.at(schema).find(keyword);
  const bool is_enum = keyword == "enum";
  if (is_enum && given.as_array() == nullptr) return bad(document, schema, keyword, "is no array");
  const Json::Array single = is_enum ? Json::Array() : Json::Array{given};
  for (const Json& value : is_enum ? *given.as_array() : single) {
    if (value.is_null()) {
      list.types |= kNullBit;
    } else if (const auto flag = value.to_bool()) {
      list.types |= *flag ? kTrueBit : kFalseBit;
    } else if (value.as_string() != nullptr) {
      list.types |= kStringBit;
      list.strings.push_back(*value.as_string());
    } else if (value.to_double()) {
      PAWL_TRY(const Decimal number, number_of(document, schema, keyword, value));
      list.types |= number.is_integer() ? kIntegerBit : kFractionBit;
      list.numbers.push_back(number.text());
      list.number_spellings.push_back(equal_to(number));
    } else {
      list.structures.push_back(document.add(schema, list.structures.size() * 2 + (is_enum ? 1 : 0),
                                             [&] { return schema_of_value(value); }));
    }
  }
  return list;
}

}  // namespace pawl::schema
