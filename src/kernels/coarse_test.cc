// SPDX-License-Identifier: Apache-2.0
// The bound on what the lower bits of a split code add: it holds for every row and input tried,
// also where the input points to where the error is largest, and it is not larger than it needs be.
#include "kernels/coarse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/test_weights.h"

namespace pawl::kernels {
namespace {

constexpr int64_t kCols = 640;

std::vector<float> errors_of(const TestMatrix& w) {
  std::vector<float> errors;
  for (int64_t first = 0; first < w.rows; first += kRowsPerBlock) {
    const std::byte* rows[kRowsPerBlock] = {};
    for (int64_t r = first; r < std::min(w.rows, first + kRowsPerBlock); ++r) {
      rows[r - first] = w.raw[static_cast<size_t>(r)].data();
    }
    float block[kRowsPerBlock];
    coarse_errors(rows, w.cols, block);
    errors.insert(errors.end(), block, block + kRowsPerBlock);
  }
  return errors;
}

std::vector<std::byte> quantised(const std::vector<float>& x) {
  const auto n = static_cast<int64_t>(x.size());
  std::vector<std::byte> row(static_cast<size_t>(a8_row_bytes(n)));
  choose_table("scalar").value()->quantize_a8(x.data(), n, row.data());
  return row;
}

std::vector<float> product(const TestMatrix& w, Format format, const std::vector<std::byte>& x) {
  std::vector<float> out(static_cast<size_t>(w.rows));
  AlignedBytes aligned(static_cast<int64_t>(x.size()));
  std::memcpy(aligned.data(), x.data(), x.size());
  const MatmulTile tile = {.format = format,
                           .w = w.packed.data(),
                           .fine = w.fine.data(),
                           .row_blocks = (w.rows + 15) / 16,
                           .rows = w.rows,
                           .cols = w.cols,
                           .x = aligned.data(),
                           .x_row_bytes = a8_row_bytes(w.cols),
                           .tokens = 1,
                           .out = out.data(),
                           .out_stride = w.rows};
  choose_table("scalar").value()->matmul_a8(tile);
  return out;
}

// The largest share of its bound that a row's difference takes.
double largest_share(const TestMatrix& w, const std::vector<float>& x) {
  const std::vector<std::byte> row = quantised(x);
  const std::vector<float> whole = product(w, Format::kQ8_0Split, row);
  const std::vector<float> coarse = product(w, Format::kQ8_0Coarse, row);
  const std::vector<float> errors = errors_of(w);
  const double length = a8_length(row.data(), w.cols);
  double largest = 0;
  for (size_t r = 0; r < whole.size(); ++r) {
    const double difference = std::fabs(static_cast<double>(whole[r]) - coarse[r]);
    largest = std::max(largest, difference / (errors[r] * length));
  }
  return largest;
}

TEST(Coarse, TheBoundHoldsForRandomInputs) {
  std::mt19937 random(41);
  for (const float magnitude : {1e-6F, 0.05F, 1000.0F}) {
    const TestMatrix w(Format::kQ8_0Split, 200, kCols, random, magnitude);
    std::normal_distribution<float> normal(0, 3);
    std::vector<float> x(kCols);
    for (int turn = 0; turn < 10; ++turn) {
      for (float& value : x) value = normal(random);
      const double share = largest_share(w, x);
      EXPECT_LT(share, 1);
      EXPECT_GT(share, 0.02);  // of 200 random directions in 640 dimensions
    }
  }
}

// What is left out of a row, as an input: the bound is reached, but for what rounding x costs.
TEST(Coarse, TheBoundIsReachedWhereTheInputIsWhatWasLeftOut) {
  std::mt19937 random(42);
  const TestMatrix w(Format::kQ8_0Split, 32, kCols, random);
  for (int64_t r = 0; r < w.rows; ++r) {
    std::vector<float> whole(kCols), coarse(kCols), x(kCols);
    unpack_row(Format::kQ8_0Split, w.packed.data() + r / 16 * packed_block_bytes(w.format, kCols),
               static_cast<int>(r % 16), kCols, whole.data(),
               w.fine.data() + r / 16 * fine_block_bytes(w.format, kCols));
    unpack_row(Format::kQ8_0Coarse, w.packed.data() + r / 16 * packed_block_bytes(w.format, kCols),
               static_cast<int>(r % 16), kCols, coarse.data());
    for (size_t c = 0; c < x.size(); ++c) x[c] = whole[c] - coarse[c];
    const double share = largest_share(w, x);
    EXPECT_LE(share, 1);
    EXPECT_GT(share, 0.999);
  }
}

TEST(Coarse, WeightsThatAreNoNumbersHaveNoBound) {
  std::mt19937 random(43);
  TestMatrix w(Format::kQ8_0Split, 3, kCols, random);
  for (const uint16_t half : {uint16_t{0x7c00}, uint16_t{0x7e00}}) {  // infinity, NaN
    std::memcpy(w.raw[1].data() + 34, &half, 2);
    const std::vector<float> errors = errors_of(w);
    EXPECT_TRUE(std::isfinite(errors[0]));
    EXPECT_EQ(errors[1], std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::isfinite(errors[2]));
    EXPECT_EQ(errors[3], 0);  // no such row
  }
}

TEST(Coarse, LengthIsThatOfTheQuantisedValues) {
  std::vector<float> x(64, 0.0F);
  x[0] = 3, x[40] = 4;
  EXPECT_NEAR(a8_length(quantised(x).data(), 64), 5, 1e-5);
  EXPECT_GE(a8_length(quantised(x).data(), 64), 5);
  x[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(a8_length(quantised(x).data(), 64)));
}

}  // namespace
}  // namespace pawl::kernels
