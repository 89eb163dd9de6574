// SPDX-License-Identifier: Apache-2.0
#include "schema/language.h"

namespace pawl::schema {

using base::Json;

Language Language::of(std::string_view kind, Json what) {
  Json form;
  form[kind] = std::move(what);
  return Language(std::move(form));
}

Language Language::literal(std::string_view text) {
  return of("literal", text);
}

Language Language::any_of_literals(const std::vector<std::string>& texts) {
  std::vector<Language> parts;
  parts.reserve(texts.size());
  for (const std::string& text : texts) parts.push_back(literal(text));
  return any_of(std::move(parts));
}

Language Language::regex(std::string expression) {
  return of("regex", std::move(expression));
}

Language Language::everything() {
  return regex("(?s:.*)");
}

Language Language::nothing() {
  return of("or", Json::array());
}

Language Language::all_of(std::vector<Language> parts) {
  if (parts.empty()) return everything();
  if (parts.size() == 1) return std::move(parts.front());
  Json list = Json::array();
  for (Language& part : parts) list.push_back(std::move(part.form_));
  return of("and", std::move(list));
}

Language Language::any_of(std::vector<Language> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  Json list = Json::array();
  for (Language& part : parts) list.push_back(std::move(part.form_));
  return of("or", std::move(list));
}

Language Language::concat(std::vector<Language> parts) {
  Json list = Json::array();
  for (Language& part : parts) list.push_back(std::move(part.form_));
  return of("concat", std::move(list));
}

// Not every sequence of bytes is a text: the complement is taken among texts. U+0001 is in none of
// them, as some classes of patterns lack it: what is left is exact.
Language Language::complement(Language part) {
  return all_of({regex("[^\\x01]*"), of("not", std::move(part.form_))});
}

Language Language::length(int64_t least, std::optional<int64_t> most) {
  Json bounds = Json::array();
  bounds.push_back(regex("(?s:.)").form_);
  bounds.push_back(least);
  bounds.push_back(most);
  return of("repeat", std::move(bounds));
}

Language Language::multiple(uint32_t coefficient, uint32_t exponent) {
  Json parts = Json::array();
  parts.push_back(static_cast<int64_t>(coefficient));
  parts.push_back(static_cast<int64_t>(exponent));
  return of("multiple", std::move(parts));
}

Language Language::quoted() const {
  return of("quote", form_);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\.+*?()|[]{}^$#&-~/").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace pawl::schema
