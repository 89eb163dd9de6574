// SPDX-License-Identifier: Apache-2.0
// The value and the writer. Apart from the reader, so that the variant's moves are calls there:
// inlined, they cost compile time and false warnings.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/json.h"
#include "base/utf8.h"

namespace pawl::base {
namespace {

void write_string(std::string_view text, std::string& out) {
  std::string valid;
  append_valid_utf8(text, valid);
  out += '"';
  for (const char c : valid) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

void write_value(const Json& value, std::string& out) {
  if (const auto* items = value.as_array()) {
    out += '[';
    for (size_t i = 0; i < items->size(); ++i) {
      if (i > 0) out += ", ";
      write_value((*items)[i], out);
    }
    out += ']';
  } else if (const auto* members = value.as_object()) {
    out += '{';
    for (size_t i = 0; i < members->size(); ++i) {
      if (i > 0) out += ", ";
      write_string((*members)[i].key, out);
      out += ": ";
      write_value((*members)[i].value, out);
    }
    out += '}';
  } else if (const auto* text = value.as_string()) {
    write_string(*text, out);
  } else if (const auto flag = value.to_bool()) {
    out += *flag ? "true" : "false";
  } else if (const auto integer = value.to_int64()) {
    out += fmt::format("{}", *integer);
  } else if (const auto large = value.to_uint64()) {
    out += fmt::format("{}", *large);
  } else if (const auto number = value.to_double(); number && std::isfinite(*number)) {
    out += fmt::format("{}", *number);
  } else {
    out += "null";
  }
}

}  // namespace

Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json::Json() noexcept = default;
Json::Json(std::nullptr_t) {}
Json::Json(bool value) : value_(value) {}
Json::Json(int value) : value_(int64_t{value}) {}
Json::Json(int64_t value) : value_(value) {}
Json::Json(double value) : value_(value) {}
Json::Json(float value) : value_(double{value}) {}
Json::Json(std::string value) : value_(std::move(value)) {}
Json::Json(std::string_view value) : value_(std::string(value)) {}
Json::Json(const char* value) : value_(std::string(value)) {}

Json::Json(uint64_t value) {
  if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    value_ = static_cast<int64_t>(value);
  } else {
    value_ = value;
  }
}

Json Json::array() { return array_of({}); }
Json Json::object() { return object_of({}); }

Json Json::array_of(Array items) {
  Json json;
  json.value_ = std::move(items);
  return json;
}

Json Json::object_of(Object members) {
  Json json;
  json.value_ = std::move(members);
  return json;
}

std::optional<bool> Json::to_bool() const {
  const auto* value = std::get_if<bool>(&value_);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<int64_t> Json::to_int64() const {
  const auto* value = std::get_if<int64_t>(&value_);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<uint64_t> Json::to_uint64() const {
  if (const auto* value = std::get_if<uint64_t>(&value_)) return *value;
  const auto integer = to_int64();
  return integer && *integer >= 0 ? std::optional(static_cast<uint64_t>(*integer)) : std::nullopt;
}

std::optional<double> Json::to_double() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<uint64_t>(&value_)) return static_cast<double>(*value);
  const auto integer = to_int64();
  return integer ? std::optional(static_cast<double>(*integer)) : std::nullopt;
}

const Json* Json::find(std::string_view key) const {
  if (const auto* members = as_object()) {
    for (const auto& member : *members) {
      if (member.key == key) return &member.value;
    }
  }
  return nullptr;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = Object{};
  auto* members = std::get_if<Object>(&value_);
  PAWL_CHECK(members != nullptr);
  for (auto& member : *members) {
    if (member.key == key) return member.value;
  }
  return members->emplace_back(Member{std::string(key), Json()}).value;
}

void Json::push_back(Json item) {
  if (is_null()) value_ = Array{};
  auto* items = std::get_if<Array>(&value_);
  PAWL_CHECK(items != nullptr);
  items->push_back(std::move(item));
}

std::string_view Json::kind_name() const {
  static constexpr std::string_view kNames[] = {"null",   "boolean", "integer", "integer",
                                                "number", "string",  "array",   "object"};
  return kNames[value_.index()];
}

std::string Json::dump() const {
  std::string out;
  write_value(*this, out);
  return out;
}

}  // namespace pawl::base
