// SPDX-License-Identifier: Apache-2.0
#include "base/binomial.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pawl::base {
namespace {

void expect_interval(int64_t hits, int64_t trials, double low, double high) {
  const Interval interval = clopper_pearson(hits, trials);
  EXPECT_NEAR(interval.low, low, 5e-5) << hits << " of " << trials;
  EXPECT_NEAR(interval.high, high, 5e-5) << hits << " of " << trials;
}

// Exact 95 % limits as published tables of the binomial distribution give them, to four digits.
TEST(ClopperPearson, AgreesWithPublishedTables) {
  expect_interval(1, 10, 0.0025, 0.4450);
  expect_interval(5, 10, 0.1871, 0.8129);
  expect_interval(3, 20, 0.0321, 0.3789);
  expect_interval(10, 100, 0.0490, 0.1762);
  // Mendel's peas, 682 of 925: the example of R's binom.test.
  expect_interval(682, 925, 0.7076683, 0.7654066);
}

TEST(ClopperPearson, HasAClosedFormAtTheEnds) {
  for (const int64_t n : {1, 7, 200, 100000}) {
    const double edge = std::pow(0.025, 1.0 / static_cast<double>(n));
    EXPECT_EQ(clopper_pearson(0, n).low, 0);
    EXPECT_NEAR(clopper_pearson(0, n).high, 1 - edge, 1e-9);
    EXPECT_NEAR(clopper_pearson(n, n).low, edge, 1e-9);
    EXPECT_EQ(clopper_pearson(n, n).high, 1);
  }
}

TEST(ClopperPearson, WithoutTrialsSaysNothing) {
  EXPECT_EQ(clopper_pearson(0, 0).low, 0);
  EXPECT_EQ(clopper_pearson(0, 0).high, 1);
}

}  // namespace
}  // namespace pawl::base
