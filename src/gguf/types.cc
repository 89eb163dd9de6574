// SPDX-License-Identifier: Apache-2.0
#include "gguf/types.h"

#include <array>
#include <limits>

#include "base/check.h"

namespace pawl::gguf {
namespace {

constexpr std::array kTypes{
    TensorTypeInfo{TensorType::kF32, "F32", 1, 4},
    TensorTypeInfo{TensorType::kF16, "F16", 1, 2},
    TensorTypeInfo{TensorType::kQ4_0, "Q4_0", 32, 18},
    TensorTypeInfo{TensorType::kQ4_1, "Q4_1", 32, 20},
    TensorTypeInfo{TensorType::kQ5_0, "Q5_0", 32, 22},
    TensorTypeInfo{TensorType::kQ5_1, "Q5_1", 32, 24},
    TensorTypeInfo{TensorType::kQ8_0, "Q8_0", 32, 34},
    TensorTypeInfo{TensorType::kQ8_1, "Q8_1", 32, 36},
    TensorTypeInfo{TensorType::kQ2_K, "Q2_K", 256, 84},
    TensorTypeInfo{TensorType::kQ3_K, "Q3_K", 256, 110},
    TensorTypeInfo{TensorType::kQ4_K, "Q4_K", 256, 144},
    TensorTypeInfo{TensorType::kQ5_K, "Q5_K", 256, 176},
    TensorTypeInfo{TensorType::kQ6_K, "Q6_K", 256, 210},
    TensorTypeInfo{TensorType::kQ8_K, "Q8_K", 256, 292},
    TensorTypeInfo{TensorType::kIQ2_XXS, "IQ2_XXS", 256, 66},
    TensorTypeInfo{TensorType::kIQ2_XS, "IQ2_XS", 256, 74},
    TensorTypeInfo{TensorType::kIQ3_XXS, "IQ3_XXS", 256, 98},
    TensorTypeInfo{TensorType::kIQ1_S, "IQ1_S", 256, 50},
    TensorTypeInfo{TensorType::kIQ4_NL, "IQ4_NL", 32, 18},
    TensorTypeInfo{TensorType::kIQ3_S, "IQ3_S", 256, 110},
    TensorTypeInfo{TensorType::kIQ2_S, "IQ2_S", 256, 82},
    TensorTypeInfo{TensorType::kIQ4_XS, "IQ4_XS", 256, 136},
    TensorTypeInfo{TensorType::kI8, "I8", 1, 1},
    TensorTypeInfo{TensorType::kI16, "I16", 1, 2},
    TensorTypeInfo{TensorType::kI32, "I32", 1, 4},
    TensorTypeInfo{TensorType::kI64, "I64", 1, 8},
    TensorTypeInfo{TensorType::kF64, "F64", 1, 8},
    TensorTypeInfo{TensorType::kIQ1_M, "IQ1_M", 256, 56},
    TensorTypeInfo{TensorType::kBF16, "BF16", 1, 2},
    TensorTypeInfo{TensorType::kTQ1_0, "TQ1_0", 256, 54},
    TensorTypeInfo{TensorType::kTQ2_0, "TQ2_0", 256, 66},
    TensorTypeInfo{TensorType::kMXFP4, "MXFP4", 32, 17},
    TensorTypeInfo{TensorType::kNVFP4, "NVFP4", 64, 36},
    TensorTypeInfo{TensorType::kQ1_0, "Q1_0", 128, 18},
};

}  // namespace

const TensorTypeInfo* find_tensor_type(uint32_t number) {
  for (const TensorTypeInfo& row : kTypes) {
    if (static_cast<uint32_t>(row.type) == number) return &row;
  }
  return nullptr;
}

const TensorTypeInfo& tensor_type_info(TensorType type) {
  const TensorTypeInfo* const row = find_tensor_type(static_cast<uint32_t>(type));
  PAWL_CHECK(row != nullptr);
  return *row;
}

std::optional<int64_t> row_bytes(TensorType type, int64_t columns) {
  const TensorTypeInfo& info = tensor_type_info(type);
  if (columns <= 0 || columns % info.group != 0) return std::nullopt;
  const int64_t groups = columns / info.group;
  if (groups > std::numeric_limits<int64_t>::max() / info.bytes) return std::nullopt;
  return groups * info.bytes;
}

}  // namespace pawl::gguf
