// SPDX-License-Identifier: Apache-2.0
#include "gguf/metadata.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "gguf/cursor.h"
#include "gguf/value.h"

namespace pawl::gguf {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr uint32_t kMaxLayers = 65536;

Error bad(std::string_view key, const std::string& message) {
  return Error{ErrorCode::kBadFile, "key " + quoted(key) + ": " + message, ""};
}

Error wrong_type(std::string_view key, const Value& value, const std::string& wanted) {
  return bad(key, "type " + type_of(value) + ", wanted " + wanted);
}

// Any integer of the format. `magnitude` of a negative one is not needed: nobody wants negative
// numbers.
struct Integer {
  bool is_negative;
  uint64_t magnitude;
};

template <typename T>
Integer widen(const Value& value) {
  const T number = number_of<T>(value);
  if (std::is_signed_v<T> && number < 0) return {true, 0};
  return {false, static_cast<uint64_t>(number)};
}

std::optional<Integer> integer_of(const Value& value) {
  switch (value.type) {
    case ValueType::kUint8:
      return widen<uint8_t>(value);
    case ValueType::kInt8:
      return widen<int8_t>(value);
    case ValueType::kUint16:
      return widen<uint16_t>(value);
    case ValueType::kInt16:
      return widen<int16_t>(value);
    case ValueType::kUint32:
      return widen<uint32_t>(value);
    case ValueType::kInt32:
      return widen<int32_t>(value);
    case ValueType::kUint64:
      return widen<uint64_t>(value);
    case ValueType::kInt64:
      return widen<int64_t>(value);
    case ValueType::kFloat32:
    case ValueType::kBool:
    case ValueType::kString:
    case ValueType::kArray:
    case ValueType::kFloat64:
      return std::nullopt;
  }
  return std::nullopt;
}

// `wanted` names the type whose largest value `limit` is.
Result<uint64_t> unsigned_of(std::string_view key, const Value& value, uint64_t limit,
                             const std::string& wanted) {
  const std::optional<Integer> integer = integer_of(value);
  if (!integer) return wrong_type(key, value, wanted);
  if (integer->is_negative || integer->magnitude > limit) {
    return bad(key, "value " + describe(value) + ", wanted " + wanted);
  }
  return integer->magnitude;
}

template <typename T>
Result<T> or_fallback(Result<T> found, T fallback) {
  if (!found.ok() && found.error().code == ErrorCode::kNotFound) return fallback;
  return found;
}

}  // namespace

std::string_view value_type_name(ValueType type) {
  switch (type) {
    case ValueType::kUint8:
      return "uint8";
    case ValueType::kInt8:
      return "int8";
    case ValueType::kUint16:
      return "uint16";
    case ValueType::kInt16:
      return "int16";
    case ValueType::kUint32:
      return "uint32";
    case ValueType::kInt32:
      return "int32";
    case ValueType::kFloat32:
      return "float32";
    case ValueType::kBool:
      return "bool";
    case ValueType::kString:
      return "string";
    case ValueType::kArray:
      return "array";
    case ValueType::kUint64:
      return "uint64";
    case ValueType::kInt64:
      return "int64";
    case ValueType::kFloat64:
      return "float64";
  }
  return "unknown";
}

size_t number_bytes(ValueType type) {
  switch (type) {
    case ValueType::kUint8:
    case ValueType::kInt8:
    case ValueType::kBool:
      return 1;
    case ValueType::kUint16:
    case ValueType::kInt16:
      return 2;
    case ValueType::kUint32:
    case ValueType::kInt32:
    case ValueType::kFloat32:
      return 4;
    case ValueType::kUint64:
    case ValueType::kInt64:
    case ValueType::kFloat64:
      return 8;
    case ValueType::kString:
    case ValueType::kArray:
      return 0;
  }
  return 0;
}

std::string type_of(const Value& value) {
  if (value.type != ValueType::kArray) return std::string(value_type_name(value.type));
  return "array of " + std::to_string(value.count) + " " +
         std::string(value_type_name(value.element));
}

void StringArray::Iterator::load() {
  if (left_ == 0) return;
  Cursor cursor(rest_);
  std::span<const std::byte> text;
  // Checked when it was parsed. If somebody wrote into the file since, texts are empty, but inside
  // it.
  text_ = cursor.read_text(&text) ? as_text(text) : std::string_view();
  rest_ = rest_.subspan(cursor.position());
}

const Value* Metadata::find(std::string_view key) const {
  const auto key_at = [&](uint32_t i) { return entries_[i].key; };
  const auto at = std::ranges::lower_bound(by_key_, key, {}, key_at);
  if (at == by_key_.end() || key_at(*at) != key) return nullptr;
  return &entries_[*at].value;
}

Result<const Value*> Metadata::require(std::string_view key) const {
  const Value* const value = find(key);
  if (value == nullptr) {
    return Error{ErrorCode::kNotFound, "key " + quoted(key) + " is missing", ""};
  }
  return value;
}

Result<uint32_t> Metadata::get_u32(std::string_view key) const {
  PAWL_TRY(const Value* const value, require(key));
  PAWL_TRY(const uint64_t number,
           unsigned_of(key, *value, std::numeric_limits<uint32_t>::max(), "uint32"));
  return static_cast<uint32_t>(number);
}

Result<uint64_t> Metadata::get_u64(std::string_view key) const {
  PAWL_TRY(const Value* const value, require(key));
  return unsigned_of(key, *value, std::numeric_limits<uint64_t>::max(), "uint64");
}

Result<float> Metadata::get_f32(std::string_view key) const {
  PAWL_TRY(const Value* const value, require(key));
  if (value->type == ValueType::kFloat32) return number_of<float>(*value);
  if (value->type != ValueType::kFloat64) return wrong_type(key, *value, "float32");
  const auto wide = number_of<double>(*value);
  if (std::isfinite(wide) && std::fabs(wide) > std::numeric_limits<float>::max()) {
    return bad(key, "value " + describe(*value) + ", wanted float32");
  }
  return static_cast<float>(wide);
}

Result<bool> Metadata::get_bool(std::string_view key) const {
  PAWL_TRY(const Value* const value, require(key));
  if (value->type != ValueType::kBool) return wrong_type(key, *value, "bool");
  return number_of<uint8_t>(*value) != 0;
}

Result<std::string_view> Metadata::get_string(std::string_view key) const {
  PAWL_TRY(const Value* const value, require(key));
  if (value->type != ValueType::kString) return wrong_type(key, *value, "string");
  return as_text(value->payload);
}

Result<uint32_t> Metadata::get_u32_or(std::string_view key, uint32_t fallback) const {
  return or_fallback(get_u32(key), fallback);
}

Result<float> Metadata::get_f32_or(std::string_view key, float fallback) const {
  return or_fallback(get_f32(key), fallback);
}

Result<bool> Metadata::get_bool_or(std::string_view key, bool fallback) const {
  return or_fallback(get_bool(key), fallback);
}

Result<std::string_view> Metadata::get_string_or(std::string_view key,
                                                 std::string_view fallback) const {
  return or_fallback(get_string(key), fallback);
}

Result<StringArray> Metadata::get_string_array(std::string_view key) const {
  PAWL_TRY(const Value* const value, require(key));
  if (value->type != ValueType::kArray || value->element != ValueType::kString) {
    return wrong_type(key, *value, "array of string");
  }
  return StringArray(value->payload, value->count);
}

Result<NumberArray<float>> Metadata::get_f32_array(std::string_view key) const {
  PAWL_TRY(const Value* const value, require(key));
  if (value->type != ValueType::kArray || value->element != ValueType::kFloat32) {
    return wrong_type(key, *value, "array of float32");
  }
  return NumberArray<float>(value->payload);
}

Result<NumberArray<int32_t>> Metadata::get_i32_array(std::string_view key) const {
  PAWL_TRY(const Value* const value, require(key));
  const bool is_unsigned = value->element == ValueType::kUint32;
  if (value->type != ValueType::kArray || !(is_unsigned || value->element == ValueType::kInt32)) {
    return wrong_type(key, *value, "array of int32");
  }
  const NumberArray<int32_t> numbers(value->payload);
  for (size_t i = 0; is_unsigned && i < numbers.size(); ++i) {
    if (numbers[i] < 0) {
      return bad(key, "element " + std::to_string(i) + ": value " +
                          std::to_string(static_cast<uint32_t>(numbers[i])) + ", wanted int32");
    }
  }
  return numbers;
}

Result<std::vector<uint32_t>> Metadata::get_u32_per_layer(std::string_view key,
                                                          uint32_t layers) const {
  constexpr uint64_t kLimit = std::numeric_limits<uint32_t>::max();
  if (layers > kMaxLayers) {
    return bad(key, "wanted for " + std::to_string(layers) + " layers, limit " +
                        std::to_string(kMaxLayers));
  }
  PAWL_TRY(const Value* const value, require(key));
  if (value->type != ValueType::kArray) {
    PAWL_TRY(const uint64_t number, unsigned_of(key, *value, kLimit, "uint32"));
    return std::vector<uint32_t>(layers, static_cast<uint32_t>(number));
  }
  const size_t width = number_bytes(value->element);
  Value element;
  // A bool is checked to be 0 or 1, so its byte is its number.
  element.type = value->element == ValueType::kBool ? ValueType::kUint8 : value->element;
  if (value->count != layers || width == 0) {
    return wrong_type(key, *value, "uint32 or array of " + std::to_string(layers) + " uint32");
  }
  std::vector<uint32_t> numbers(layers);
  for (size_t i = 0; i < numbers.size(); ++i) {
    element.payload = value->payload.subspan(i * width, width);
    PAWL_TRY(const uint64_t number, unsigned_of(key, element, kLimit, "uint32"));
    numbers[i] = static_cast<uint32_t>(number);
  }
  return numbers;
}

}  // namespace pawl::gguf
