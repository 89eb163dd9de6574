// SPDX-License-Identifier: Apache-2.0
// JSON as a value: parsed from foreign bytes under limits, built by our code, written as one line.
// json.cc is the only user of the parsing library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace pawl::base {

// A JSON value. Objects keep the order of their members. Numbers keep what was written: an integer
// that fits int64 or uint64 stays one, everything else is a double.
class Json {
 public:
  struct Member;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;

  // Constructors are out of line: inlined, the variant wants Member complete, which needs Json.
  Json() noexcept;  // null
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();

  Json(std::nullptr_t);
  Json(bool value);
  Json(int value);
  Json(int64_t value);
  Json(uint64_t value);
  Json(double value);  // not finite: written as null
  Json(float value);
  Json(std::string value);
  Json(std::string_view value);
  Json(const char* value);
  template <typename T>
  Json(const std::optional<T>& value) : Json() {
    if (value) *this = Json(*value);  // no value is null, never 0
  }

  static Json array();
  static Json object();
  static Json array_of(Array items);
  static Json object_of(Object members);  // REQUIRES: no key twice

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }

  // Each gives the value if it is of that kind, else nothing. Pointers live as long as this value.
  std::optional<bool> to_bool() const;
  std::optional<int64_t> to_int64() const;  // integers only: 1.0 is not one
  std::optional<uint64_t> to_uint64() const;
  std::optional<double> to_double() const;  // any number
  const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  const Array* as_array() const { return std::get_if<Array>(&value_); }
  const Object* as_object() const { return std::get_if<Object>(&value_); }

  // The member of an object, or null when this is no object or has none of that name.
  const Json* find(std::string_view key) const;

  // The member, appended if missing. REQUIRES: an object, or null, which becomes one.
  Json& operator[](std::string_view key);
  // REQUIRES: an array, or null, which becomes one.
  void push_back(Json item);

  // "object", "array", "string", "integer", "number", "boolean", "null": for messages.
  std::string_view kind_name() const;

  // One line, no spaces but after ':' and ','; doubles in the fewest digits that read back the
  // same. Bytes that are not UTF-8 become U+FFFD: token pieces may hold half a character.
  std::string dump() const;

 private:
  // Integers above INT64_MAX alone use uint64_t, so that each value has one representation.
  using Storage =
      std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Array, Object>;

  Storage value_;
};

struct Json::Member {
  std::string key;
  Json value;
};

struct JsonLimits {
  int depth = 128;                          // arrays and objects inside one another
  size_t bytes = size_t{64} * 1024 * 1024;  // of the whole text
};

// RFC 8259, strictly: one value, UTF-8, no comments. A key that stands twice in one object is
// refused, as every reader would keep another one. Error kBadFile says what and at which byte.
Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace pawl::base
