// SPDX-License-Identifier: Apache-2.0
// The tensor types a GGUF file can name: number, name, and how many elements take how many bytes.
// A type stands here whether or not a kernel exists for it: a file that uses it can be described,
// and the refusal can say its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pawl::gguf {

// The numbers of the format; gaps are types that the format has withdrawn.
enum class TensorType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ8_1 = 9,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kQ8_K = 15,
  kIQ2_XXS = 16,
  kIQ2_XS = 17,
  kIQ3_XXS = 18,
  kIQ1_S = 19,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ2_S = 22,
  kIQ4_XS = 23,
  kI8 = 24,
  kI16 = 25,
  kI32 = 26,
  kI64 = 27,
  kF64 = 28,
  kIQ1_M = 29,
  kBF16 = 30,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kMXFP4 = 39,
  kNVFP4 = 40,
  kQ1_0 = 41,
};

struct TensorTypeInfo {
  TensorType type;
  std::string_view name;  // as the format spells it: "Q4_K"
  int64_t group;  // elements that share a scale and are stored together; 1 for plain numbers
  int64_t bytes;  // of one group
};

// The row of a number read from a file, or nullptr when no type has it.
const TensorTypeInfo* find_tensor_type(uint32_t number);

// The row of a type. REQUIRES: `type` is one of the enumerators.
const TensorTypeInfo& tensor_type_info(TensorType type);

// Bytes of one row of `columns` elements; nothing when `columns` is not a positive multiple of the
// group, or the bytes do not fit in int64.
std::optional<int64_t> row_bytes(TensorType type, int64_t columns);

}  // namespace pawl::gguf
