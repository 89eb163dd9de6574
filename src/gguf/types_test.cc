// SPDX-License-Identifier: Apache-2.0
#include "gguf/types.h"

#include <gtest/gtest.h>

#include <limits>

namespace pawl::gguf {
namespace {

struct Row {
  uint32_t number;
  const char* name;
  int64_t group;
  int64_t bytes;
};

// From the `gguf` Python package 0.19.0 (GGML_QUANT_SIZES), but for Q8_1: it says 40 bytes, the
// size before both floats of the group became halves; the format's own definition is 2 + 2 + 32.
constexpr Row kPublished[] = {
    {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},
    {3, "Q4_1", 32, 20},      {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},      {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},  {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},  {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
    {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},
    {29, "IQ1_M", 256, 56},   {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},    {40, "NVFP4", 64, 36},
    {41, "Q1_0", 128, 18},
};

TEST(TensorTypes, AreThePublishedOnesAndNoOther) {
  size_t known = 0;
  for (uint32_t number = 0; number < 1000; ++number) {
    known += find_tensor_type(number) != nullptr ? 1 : 0;
  }
  EXPECT_EQ(known, std::size(kPublished));
  for (const Row& row : kPublished) {
    const TensorTypeInfo* const info = find_tensor_type(row.number);
    ASSERT_NE(info, nullptr) << row.name;
    EXPECT_EQ(info->name, row.name);
    EXPECT_EQ(info->group, row.group) << row.name;
    EXPECT_EQ(info->bytes, row.bytes) << row.name;
    EXPECT_EQ(&tensor_type_info(info->type), info);
  }
}

TEST(TensorTypes, ARowIsWholeGroupsAndItsBytesDoNotOverflow) {
  EXPECT_EQ(row_bytes(TensorType::kQ4_K, 512), 288);
  EXPECT_EQ(row_bytes(TensorType::kF32, 3), 12);
  EXPECT_EQ(row_bytes(TensorType::kQ4_K, 300), std::nullopt);
  EXPECT_EQ(row_bytes(TensorType::kF32, 0), std::nullopt);
  EXPECT_EQ(row_bytes(TensorType::kF32, -32), std::nullopt);
  EXPECT_EQ(row_bytes(TensorType::kF32, std::numeric_limits<int64_t>::max()), std::nullopt);
}

}  // namespace
}  // namespace pawl::gguf
