// SPDX-License-Identifier: Apache-2.0
// Inside of gguf/: one metadata value, read and named. metadata.h is what others include.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>

#include "base/result.h"
#include "gguf/cursor.h"
#include "gguf/metadata.h"

namespace pawl::gguf {

inline constexpr uint32_t kLastValueType = static_cast<uint32_t>(ValueType::kFloat64);

// Bytes of a number or bool; 0 for strings and arrays, which have no size of their own.
size_t number_bytes(ValueType type);

// "uint32", "array of 400 uint8"
std::string type_of(const Value& value);

// Reads and checks one value; `depth` is that of an array that stands here, 1 at the top. The
// message of an error does not know the key.
base::Result<Value> read_value(Cursor& cursor, ValueType type, int depth);

// REQUIRES: `value` is a number of sizeof(T) bytes, or a bool
template <typename T>
T number_of(const Value& value) {
  T number;
  std::memcpy(&number, value.payload.data(), sizeof(T));
  return number;
}

}  // namespace pawl::gguf
