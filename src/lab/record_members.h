// SPDX-License-Identifier: Apache-2.0
// Reading a raw record back: the members of its objects, each of the kind that it was written as.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace pawl::lab {

// Reads the members of one object. The first that is missing or of another kind is kept as the
// error; what follows is skipped.
class Members {
 public:
  // name: of the member that this object is; empty for the record itself.
  explicit Members(const base::Json& object, std::string_view name = "")
      : object_(object), name_(name) {
    if (object.as_object() == nullptr) fail("", "an object");
  }

  void read(std::string_view key, std::string& value) {
    const base::Json* member = find(key);
    if (member == nullptr) return;
    if (member->as_string() == nullptr) return fail(key, "a string");
    value = *member->as_string();
  }
  void read(std::string_view key, bool& value) {
    const base::Json* member = find(key);
    if (member == nullptr) return;
    if (!member->to_bool()) return fail(key, "true or false");
    value = *member->to_bool();
  }
  template <typename Integer>
  void read_count(std::string_view key, Integer& value) {
    if (const base::Json* member = find(key)) read_integer(key, *member, value, 0);
  }
  void read_time(std::string_view key, int64_t& value) {
    if (const base::Json* member = find(key))
      read_integer(key, *member, value, -kTimeLimit, kTimeLimit);
  }
  void read_count(std::string_view key, std::optional<int64_t>& value) {
    if (!is_value(key)) return;
    int64_t count = 0;
    read_count(key, count);
    value = count;
  }
  void read_time(std::string_view key, std::optional<int64_t>& value) {
    if (!is_value(key)) return;
    int64_t time = 0;
    read_time(key, time);
    value = time;
  }
  void read(std::string_view key, std::optional<double>& value) {
    if (!is_value(key)) return;
    const base::Json* member = find(key);
    if (member == nullptr) return;
    if (!member->to_double()) return fail(key, "a number");
    value = *member->to_double();
  }
  template <typename Enum, typename Parse>
  void read_name(std::string_view key, Enum& value, Parse parse) {
    std::string name;
    read(key, name);
    if (error_) return;
    const auto parsed = parse(name);
    if (!parsed) return fail(key, "a name that is known");
    value = *parsed;
  }
  // A member that must be there; null after a failure.
  const base::Json* find(std::string_view key) {
    if (error_) return nullptr;
    const base::Json* member = object_.find(key);
    if (member == nullptr) fail(key, "there");
    return member;
  }

  void fail(std::string_view key, std::string_view expected) {
    if (error_) return;
    const std::string_view dot = name_.empty() || key.empty() ? "" : ".";
    const std::string path = fmt::format("{}{}{}", name_, dot, key);
    error_ = base::Error{base::ErrorCode::kBadFile,
                         path.empty() ? fmt::format("a record is not {}", expected)
                                      : fmt::format("'{}' of a record is not {}", path, expected),
                         ""};
  }
  void take(const Members& part) {
    if (!error_) error_ = part.error_;
  }
  const std::optional<base::Error>& error() const { return error_; }

  template <typename Integer>
  void read_integer(std::string_view key, const base::Json& json, Integer& value, int64_t minimum,
                    int64_t maximum = std::numeric_limits<Integer>::max()) {
    const auto given = json.to_int64();
    if (!given || *given < minimum || *given > maximum) {
      return fail(key, fmt::format("an integer from {} to {}", minimum, maximum));
    }
    value = static_cast<Integer>(*given);
  }

  // Half the range, so that no difference of two times overflows.
  static constexpr int64_t kTimeLimit = std::numeric_limits<int64_t>::max() / 2;

 private:
  // False for null, which stands for no value.
  bool is_value(std::string_view key) {
    const base::Json* member = find(key);
    return member != nullptr && !member->is_null();
  }

  const base::Json& object_;
  std::string_view name_;
  std::optional<base::Error> error_;
};

}  // namespace pawl::lab
