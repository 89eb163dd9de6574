// SPDX-License-Identifier: Apache-2.0
// Writes GGUF files: small ones whole, the fixtures of tests among them, of large ones the head,
// behind which the caller writes the tensors. It writes what it is told, also what the reader must
// refuse (doubled keys, dimensions of 0, tensor bytes that do not fit the shape). Threads: none;
// one owner.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/metadata.h"
#include "gguf/types.h"

namespace pawl::gguf {

// The C++ types that stand for a number or bool of the format, and no other: a `long` or a pointer
// must not slip in.
template <typename T>
concept MetadataNumber = std::same_as<T, uint8_t> || std::same_as<T, int8_t> ||
    std::same_as<T, uint16_t> || std::same_as<T, int16_t> || std::same_as<T, uint32_t> ||
    std::same_as<T, int32_t> || std::same_as<T, uint64_t> || std::same_as<T, int64_t> ||
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, bool>;

template <MetadataNumber T>
constexpr ValueType value_type_of() {
  if constexpr (std::same_as<T, uint8_t>) return ValueType::kUint8;
  if constexpr (std::same_as<T, int8_t>) return ValueType::kInt8;
  if constexpr (std::same_as<T, uint16_t>) return ValueType::kUint16;
  if constexpr (std::same_as<T, int16_t>) return ValueType::kInt16;
  if constexpr (std::same_as<T, uint32_t>) return ValueType::kUint32;
  if constexpr (std::same_as<T, int32_t>) return ValueType::kInt32;
  if constexpr (std::same_as<T, uint64_t>) return ValueType::kUint64;
  if constexpr (std::same_as<T, int64_t>) return ValueType::kInt64;
  if constexpr (std::same_as<T, float>) return ValueType::kFloat32;
  if constexpr (std::same_as<T, double>) return ValueType::kFloat64;
  return ValueType::kBool;
}

class Writer {
 public:
  explicit Writer(uint32_t version = 3) : version_(version) {}

  template <MetadataNumber T>
  void add(std::string_view key, T value) {
    add_raw(key, value_type_of<T>(), bytes_of(value));
  }
  void add(std::string_view key, std::string_view text);
  // A value as it was read from another file.
  void add(std::string_view key, const Value& value);

  template <MetadataNumber T>
  void add_array(std::string_view key, const std::vector<T>& values) {
    std::vector<std::byte> elements;
    for (const T value : values) {
      const std::vector<std::byte> one = bytes_of(value);
      elements.insert(elements.end(), one.begin(), one.end());
    }
    add_raw_array(key, value_type_of<T>(), values.size(), elements);
  }
  void add_array(std::string_view key, const std::vector<std::string>& texts);

  // An array from the bytes of its elements, whatever they are.
  void add_raw_array(std::string_view key, ValueType element, uint64_t count,
                     std::span<const std::byte> elements);

  // A value from its bytes, whatever they are.
  void add_raw(std::string_view key, ValueType type, std::span<const std::byte> payload);

  // Where tensors begin; also written as `general.alignment`. 32, without a key, if never called.
  // REQUIRES: alignment > 0
  void set_alignment(uint32_t alignment);

  // `dims` as in the file: dims[0] is contiguous.
  void add_tensor(std::string_view name, TensorType type, std::vector<uint64_t> dims,
                  std::span<const std::byte> data);

  // A tensor of `bytes` bytes that the caller writes behind head(), in the order of these calls,
  // each filled up with zeros to a multiple of alignment(). REQUIRES: no add_tensor()
  void announce_tensor(std::string_view name, TensorType type, std::vector<uint64_t> dims,
                       uint64_t bytes);

  uint32_t alignment() const { return alignment_; }

  // Everything before the first tensor's bytes, padding included.
  std::vector<std::byte> head() const;
  std::vector<std::byte> bytes() const;

  // Writes beside `path` and renames, so that `path` is the old file or the whole new one. Error
  // kIo.
  base::Result<void> write(const std::string& path) const;

 private:
  struct Tensor {
    std::string name;
    TensorType type;
    std::vector<uint64_t> dims;
    uint64_t offset;
  };

  template <typename T>
  static std::vector<std::byte> bytes_of(T value) {
    std::vector<std::byte> bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
  }

  uint32_t version_;
  uint32_t alignment_ = 32;
  uint64_t pairs_ = 0;
  std::vector<std::byte> metadata_;
  std::vector<Tensor> tensors_;
  std::vector<std::byte> data_;
  uint64_t announced_bytes_ = 0;  // of tensors that are not in data_
};

}  // namespace pawl::gguf
