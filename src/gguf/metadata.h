// SPDX-License-Identifier: Apache-2.0
// The metadata of a GGUF file: keys and typed values, all of them views of the file's bytes.
// Nothing is copied when a file is opened, so a vocabulary of 262,144 texts costs one walk over its
// lengths.
//
// Lifetime: every view given here lives as long as the bytes it was parsed from (the gguf::File).
// Threads: immutable after parse; any number of readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::gguf {

class Cursor;

// The numbers of the format.
enum class ValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

// "uint32", "array", …
std::string_view value_type_name(ValueType type);

// Arrays may hold arrays, this deep in all.
inline constexpr int kMaxArrayDepth = 4;

// One value as it stands in the file. `payload` is the number's bytes, the text of a string without
// its length, or the elements of an array one after the other. The getters of Metadata read it;
// this is for who prints any value.
struct Value {
  ValueType type = ValueType::kUint8;
  ValueType element = ValueType::kUint8;  // of an array
  uint64_t count = 0;                     // elements of an array
  std::span<const std::byte> payload;
};

// Numbers of one type, as they stand in the file: little endian and at any address.
template <typename T>
class NumberArray {
 public:
  NumberArray() = default;
  // REQUIRES: bytes.size() is a multiple of sizeof(T)
  explicit NumberArray(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t size() const { return bytes_.size() / sizeof(T); }
  bool empty() const { return bytes_.empty(); }

  T operator[](size_t i) const {  // REQUIRES: i < size()
    T value;
    std::memcpy(&value, bytes_.data() + i * sizeof(T), sizeof(T));
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
};

// Texts, each a length and its bytes. Only walked, in order: `for (std::string_view text : array)`.
// A text is any bytes; whoever needs valid UTF-8 checks it.
class StringArray {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string_view*;
    using reference = std::string_view;

    Iterator() = default;
    Iterator(std::span<const std::byte> rest, uint64_t left) : rest_(rest), left_(left) { load(); }

    std::string_view operator*() const { return text_; }
    Iterator& operator++() {
      --left_;
      load();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return left_ == other.left_; }

   private:
    void load();

    std::span<const std::byte> rest_;
    uint64_t left_ = 0;
    std::string_view text_;
  };

  StringArray() = default;
  StringArray(std::span<const std::byte> bytes, uint64_t count) : bytes_(bytes), count_(count) {}

  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  Iterator begin() const { return Iterator(bytes_, count_); }
  Iterator end() const { return Iterator({}, 0); }

 private:
  std::span<const std::byte> bytes_;
  uint64_t count_ = 0;
};

class Metadata {
 public:
  struct Entry {
    std::string_view key;
    Value value;
  };

  Metadata() = default;

  // Reads `count` pairs at the cursor and leaves it behind them. Errors, all naming the key: bytes
  // that end too soon, an unknown type, a bool that is neither 0 nor 1, arrays deeper than
  // kMaxArrayDepth, a key given twice or empty.
  static base::Result<Metadata> parse(Cursor& cursor, uint64_t count);

  // All pairs, in the order of the file.
  std::span<const Entry> entries() const { return entries_; }

  // The value of a key, or nullptr. O(log keys).
  const Value* find(std::string_view key) const;

  // Typed look-ups. Errors: kNotFound for a key that is missing; kBadFile, with the key, what was
  // found and what was wanted, for another type or a number that does not fit. Any integer type
  // serves where an integer is wanted, and float64 where float32 is.
  base::Result<uint32_t> get_u32(std::string_view key) const;
  base::Result<uint64_t> get_u64(std::string_view key) const;
  base::Result<float> get_f32(std::string_view key) const;
  base::Result<bool> get_bool(std::string_view key) const;
  base::Result<std::string_view> get_string(std::string_view key) const;

  // The same, with a value for a key that is missing. A key of the wrong type is still an error.
  base::Result<uint32_t> get_u32_or(std::string_view key, uint32_t fallback) const;
  base::Result<float> get_f32_or(std::string_view key, float fallback) const;
  base::Result<bool> get_bool_or(std::string_view key, bool fallback) const;
  base::Result<std::string_view> get_string_or(std::string_view key,
                                               std::string_view fallback) const;

  // Arrays, of exactly the element type named; int32 may also be stored as uint32 if all values
  // fit. The length is the caller's to check.
  base::Result<StringArray> get_string_array(std::string_view key) const;
  base::Result<NumberArray<float>> get_f32_array(std::string_view key) const;
  base::Result<NumberArray<int32_t>> get_i32_array(std::string_view key) const;

  // One value for each of `layers` layers: from a number, which holds for all, or from an array of
  // integers or bools (0 and 1) of exactly that length. Error also for more than 65,536 layers.
  base::Result<std::vector<uint32_t>> get_u32_per_layer(std::string_view key,
                                                        uint32_t layers) const;

 private:
  base::Result<const Value*> require(std::string_view key) const;

  std::vector<Entry> entries_;
  std::vector<uint32_t> by_key_;  // indices of entries_, sorted by key
};

// A value for people: at most `max_elements` of each array, long texts cut, one line.
std::string describe(const Value& value, size_t max_elements = 8);

}  // namespace pawl::gguf
