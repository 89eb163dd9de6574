// SPDX-License-Identifier: Apache-2.0
// Packing changes no weight: what is read back equals the row of the file, bit for bit.
#include "kernels/packed.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "kernels/test_weights.h"

namespace pawl::kernels {
namespace {

void expect_same_bits(const std::vector<float>& expected, const std::vector<float>& actual,
                      const char* name) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(expected[i]), std::bit_cast<uint32_t>(actual[i]))
        << name << " column " << i << ": " << expected[i] << " became " << actual[i];
  }
}

std::vector<float> dequantized(const TestMatrix& matrix, int64_t row) {
  std::vector<float> weights(static_cast<size_t>(matrix.cols));
  dequantize_row(file_format(matrix.format), matrix.raw[static_cast<size_t>(row)].data(),
                 matrix.cols, weights.data());
  return weights;
}

TEST(Packed, RowsComeBackBitForBit) {
  std::mt19937 random(1);
  for (Format format : kAllFormats) {
    for (int64_t rows : {1, 15, 16, 33}) {
      const int64_t cols = format_info(format)->group == 256 ? 768 : 96;
      const TestMatrix matrix(format, rows, cols, random);
      std::vector<float> row(static_cast<size_t>(cols));
      for (int64_t r = 0; r < rows; ++r) {
        const std::byte* block = matrix.packed.data() + r / 16 * packed_block_bytes(format, cols);
        const std::byte* fine = matrix.fine.data() + r / 16 * fine_block_bytes(format, cols);
        unpack_row(format, block, static_cast<int>(r % 16), cols, row.data(), fine);
        expect_same_bits(dequantized(matrix, r), row, format_info(format)->name);
      }
    }
  }
}

TEST(Packed, ExtremeScalesAndCodesComeBackBitForBit) {
  std::mt19937 random(2);
  for (Format format : kFormatsWithPlanes) {
    for (float magnitude : {1e-7F, 65000.0F}) {
      for (Codes codes : {Codes::kRandom, Codes::kLowest, Codes::kHighest}) {
        const TestMatrix matrix(format, 16, 512, random, magnitude, codes);
        std::vector<float> row(512);
        for (int r = 0; r < 16; ++r) {
          unpack_row(format, matrix.packed.data(), r, 512, row.data(), matrix.fine.data());
          expect_same_bits(dequantized(matrix, r), row, format_info(format)->name);
        }
      }
    }
  }
}

TEST(Packed, ColumnsAreTheRowsTransposed) {
  std::mt19937 random(3);
  for (Format format : kAllFormats) {
    const int64_t group = std::max(32, format_info(format)->group);
    const int64_t cols = 3 * group;
    const TestMatrix matrix(format, 16, cols, random);
    std::vector<float> columns(static_cast<size_t>(2 * group * 16));
    unpack_columns(format, matrix.packed.data(), cols, group, 2 * group, columns.data(),
                   matrix.fine.data());
    for (int r = 0; r < 16; ++r) {
      const std::vector<float> row = dequantized(matrix, r);
      std::vector<float> expected(row.begin() + group, row.end()), actual;
      for (int64_t c = 0; c < 2 * group; ++c)
        actual.push_back(columns[static_cast<size_t>(c * 16 + r)]);
      expect_same_bits(expected, actual, format_info(format)->name);
    }
  }
}

TEST(Packed, PaddedRowsAreZero) {
  std::mt19937 random(4);
  for (Format format : kAllFormats) {
    const int64_t cols = 256;
    const TestMatrix matrix(format, 3, cols, random);
    std::vector<float> row(static_cast<size_t>(cols), 1.0F);
    unpack_row(format, matrix.packed.data(), 3, cols, row.data(), matrix.fine.data());
    for (float weight : row) ASSERT_EQ(weight, 0.0F) << format_info(format)->name;
  }
}

// What packing may cost in memory and, with it, in bandwidth.
TEST(Packed, TakesLessThanFourPercentMoreThanTheFile) {
  for (Format format : kAllFormats) {
    const double file = 16.0 * static_cast<double>(raw_row_bytes(format, 2048));
    const int64_t bytes = packed_block_bytes(format, 2048), fine = fine_block_bytes(format, 2048);
    EXPECT_LT(static_cast<double>(bytes + fine), 1.04 * file) << format_info(format)->name;
    EXPECT_EQ(bytes % 64, 0);
    EXPECT_EQ(fine % 64, 0);
  }
}

TEST(Packed, FormatsWithPlanesAreNamed) {
  for (Format format : kFormatsWithPlanes) EXPECT_TRUE(has_planes(format));
  for (Format format :
       {Format::kF32, Format::kF16, Format::kBF16, Format::kIQ2_XXS, Format::kTQ1_0}) {
    EXPECT_FALSE(has_planes(format));
  }
}

}  // namespace
}  // namespace pawl::kernels
