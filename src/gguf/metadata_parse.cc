// SPDX-License-Identifier: Apache-2.0
// Walks the metadata once and checks every length in it, so that the look-ups need not.
//
//   metadata: { key (u64 length, bytes) | type u32 | value }
//   value of a number: its bytes; of a string: u64 length, bytes; of an array: type u32, count u64,
//   values
#include <algorithm>
#include <numeric>
#include <string>

#include "gguf/cursor.h"
#include "gguf/metadata.h"
#include "gguf/value.h"

namespace pawl::gguf {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// Far above any real file, which has less than a hundred. Bounds what a small file can make us
// allocate.
constexpr uint64_t kMaxPairs = 65536;
constexpr size_t kMaxKeyBytes = 65535;             // of the specification
constexpr uint64_t kMinPairBytes = 8 + 1 + 4 + 1;  // a key of one letter and a value of one byte

Error bad(std::string message) {
  return Error{ErrorCode::kBadFile, std::move(message), ""};
}

Error ends_inside(const Cursor& cursor, const std::string& what) {
  return bad("the file ends inside " + what + ": " + std::to_string(cursor.remaining()) +
             " bytes left");
}

Result<void> check_bools(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    if (std::to_integer<int>(byte) > 1) {
      return bad("bool stored as " + std::to_string(std::to_integer<int>(byte)) +
                 ", must be 0 or 1");
    }
  }
  return {};
}

Result<void> read_number(Cursor& cursor, Value& value) {
  if (!cursor.take(number_bytes(value.type), &value.payload)) {
    return ends_inside(cursor, std::string(value_type_name(value.type)));
  }
  if (value.type == ValueType::kBool) PAWL_TRY_VOID(check_bools(value.payload));
  return {};
}

// Elements of one size: nothing but bools is looked at.
Result<void> read_numbers(Cursor& cursor, Value& value) {
  const uint64_t width = number_bytes(value.element);
  if (value.count > cursor.remaining() / width) return ends_inside(cursor, type_of(value));
  if (!cursor.take(value.count * width, &value.payload)) return ends_inside(cursor, type_of(value));
  if (value.element == ValueType::kBool) PAWL_TRY_VOID(check_bools(value.payload));
  return {};
}

// Strings or arrays: walked, because only they know where they end.
Result<void> walk_elements(Cursor& cursor, Value& value, int depth) {
  Cursor behind = cursor;
  for (uint64_t i = 0; i < value.count; ++i) {
    if (value.element == ValueType::kString) {
      std::span<const std::byte> text;
      if (behind.read_text(&text)) continue;
      return ends_inside(behind, "element " + std::to_string(i) + " of " + type_of(value));
    }
    PAWL_TRY_VOID(read_value(behind, value.element, depth + 1));
  }
  if (!cursor.take(behind.position() - cursor.position(), &value.payload)) {
    return ends_inside(cursor, type_of(value));
  }
  return {};
}

Result<void> read_array(Cursor& cursor, Value& value, int depth) {
  if (depth > kMaxArrayDepth) {
    return bad("arrays inside arrays more than " + std::to_string(kMaxArrayDepth) + " deep");
  }
  uint32_t element = 0;
  if (!cursor.read(&element) || !cursor.read(&value.count)) {
    return ends_inside(cursor, "the type and length of an array");
  }
  if (element > kLastValueType) return bad("unknown element type " + std::to_string(element));
  value.element = static_cast<ValueType>(element);
  if (number_bytes(value.element) != 0) return read_numbers(cursor, value);
  return walk_elements(cursor, value, depth);
}

Result<std::string_view> read_key(Cursor& cursor, uint64_t index) {
  std::span<const std::byte> key;
  const std::string name = "metadata key " + std::to_string(index);
  if (!cursor.read_text(&key)) return ends_inside(cursor, name);
  if (key.empty()) return bad(name + " is empty");
  if (key.size() > kMaxKeyBytes) {
    return bad(name + ": " + std::to_string(key.size()) + " bytes, limit " +
               std::to_string(kMaxKeyBytes));
  }
  return as_text(key);
}

}  // namespace

Result<Value> read_value(Cursor& cursor, ValueType type, int depth) {
  Value value;
  value.type = type;
  if (type == ValueType::kArray) {
    PAWL_TRY_VOID(read_array(cursor, value, depth));
  } else if (type == ValueType::kString) {
    if (!cursor.read_text(&value.payload)) return ends_inside(cursor, "a string");
  } else {
    PAWL_TRY_VOID(read_number(cursor, value));
  }
  return value;
}

Result<Metadata> Metadata::parse(Cursor& cursor, uint64_t count) {
  if (count > kMaxPairs || count > cursor.remaining() / kMinPairBytes) {
    const uint64_t limit = std::min<uint64_t>(kMaxPairs, cursor.remaining() / kMinPairBytes);
    return bad("the header counts " + std::to_string(count) + " metadata pairs, limit " +
               std::to_string(limit) + " for this file");
  }
  Metadata metadata;
  metadata.entries_.reserve(static_cast<size_t>(count));
  for (uint64_t i = 0; i < count; ++i) {
    PAWL_TRY(const std::string_view key, read_key(cursor, i));
    uint32_t type = 0;
    if (!cursor.read(&type)) return ends_inside(cursor, "the type of key " + quoted(key));
    if (type > kLastValueType) {
      return bad("key " + quoted(key) + ": unknown value type " + std::to_string(type));
    }
    auto value = read_value(cursor, static_cast<ValueType>(type), 1);
    if (!value.ok()) return bad("key " + quoted(key) + ": " + value.error().message);
    metadata.entries_.push_back({key, *value});
  }

  metadata.by_key_.resize(metadata.entries_.size());
  std::iota(metadata.by_key_.begin(), metadata.by_key_.end(), 0U);
  const auto key_at = [&](uint32_t i) { return metadata.entries_[i].key; };
  std::ranges::sort(metadata.by_key_, {}, key_at);
  const auto twice = std::ranges::adjacent_find(metadata.by_key_, {}, key_at);
  if (twice != metadata.by_key_.end()) {
    return bad("key " + quoted(key_at(*twice)) + " is there twice");
  }
  return metadata;
}

}  // namespace pawl::gguf
