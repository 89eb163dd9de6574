// SPDX-License-Identifier: Apache-2.0
// Against the C library, in double.
#include "policy/row_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "policy/test_rows.h"

namespace pawl::policy {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(RowMath, ExpAndLogAgreeWithTheLibraryToARoundingOrTwo) {
  for (int i = -7000; i <= 7000; ++i) {
    const double x = i * 0.1003;
    EXPECT_NEAR(exact_exp(x) / std::exp(x), 1, 4e-16) << x;
    const double y = std::exp(x);
    EXPECT_NEAR(exact_log(y), std::log(y), 3e-16 * std::max(1.0, std::abs(std::log(y)))) << y;
  }
  EXPECT_EQ(exact_exp(0), 1);
  EXPECT_EQ(exact_log(1), 0);
  EXPECT_EQ(exact_exp(-1e9), 0);
  EXPECT_EQ(exact_exp(1e9), std::numeric_limits<double>::infinity());
  EXPECT_EQ(exact_pow(0, 3), 0);
  EXPECT_NEAR(exact_pow(1.75, 10), std::pow(1.75, 10), 1e-12);
}

TEST(RowMath, SumsAgreeWithTheLibraryAtEveryLength) {
  for (size_t size = 1; size < 200; ++size) {
    const std::vector<float> row = normal_row(size, 6, size);
    const Largest top = find_largest(row);
    EXPECT_EQ(top.index,
              static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin()));
    double expected = 0;
    for (const float x : row) expected += std::exp(static_cast<double>(x) - top.value);
    EXPECT_NEAR(sum_of_weights(row, top.value) / expected, 1, 1e-6);
    EXPECT_NEAR(log_sum_exp(row), top.value + std::log(expected), 1e-9);
    std::vector<float> largest;
    largest_of_blocks(row, largest);
    EXPECT_EQ(largest.size(), (size + kBlock - 1) / kBlock);
    EXPECT_EQ(*std::max_element(largest.begin(), largest.end()), top.value);
  }
}

// Most of the row far below the largest, where the sum takes the short way.
TEST(RowMath, LogSumExpKeepsItsPrecisionWhenTheTailIsFar) {
  std::vector<float> row(100000, -21.0f);
  row[5] = 0;
  EXPECT_NEAR(log_sum_exp(row), std::log1p(99999 * std::exp(-21.0)), 1e-10);
}

TEST(RowMath, WeightsAreZeroBelowTheRangeAndForWhatIsNoNumber) {
  const std::vector<float> x = {0,     -87,        -88,
                                -1000, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
  float weights[6];
  weights_of_block(x, 0, weights);
  EXPECT_EQ(weights[0], 1);
  EXPECT_NEAR(weights[1] / std::exp(-87.0), 1, 1e-5);
  for (int i = 2; i < 6; ++i) EXPECT_EQ(weights[i], 0) << i;
}

TEST(RowMath, SelectionEqualsASortAtEverySizeWithTies) {
  for (const size_t size :
       {size_t{1}, size_t{15}, size_t{16}, size_t{17}, size_t{1000}, size_t{5000}}) {
    std::vector<float> row = normal_row(size, 1, size);
    for (float& x : row) x = std::round(x * 8) / 8;  // many ties
    if (size > 20) row[20] = -kInfinity;
    std::vector<int32_t> order;
    for (size_t i = 0; i < size; ++i) {
      if (row[i] > -kInfinity) order.push_back(static_cast<int32_t>(i));
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return row[a] > row[b]; });
    for (const size_t k : {size_t{1}, size_t{2}, size_t{40}, size_t{999}, size_t{6000}}) {
      std::vector<int32_t> expected(order.begin(), order.begin() + std::min(k, order.size()));
      std::sort(expected.begin(), expected.end());
      std::vector<int32_t> selected;
      select_largest(row, k, selected);
      EXPECT_EQ(selected, expected) << k << " of " << size;
    }
    std::vector<int32_t> above, expected;
    append_at_least(row, 0.5f, above);
    for (size_t i = 0; i < size; ++i) {
      if (row[i] >= 0.5f) expected.push_back(static_cast<int32_t>(i));
    }
    EXPECT_EQ(above, expected);
  }
}

}  // namespace
}  // namespace pawl::policy
