// SPDX-License-Identifier: Apache-2.0
#include "lab/stats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "base/rng.h"

namespace pawl::lab {
namespace {

TEST(Stats, S171_PercentilesOfOneToTenAreLinear) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_DOUBLE_EQ(percentile(values, 90), 9.1);
  EXPECT_DOUBLE_EQ(percentile(values, 99), 9.91);
  EXPECT_DOUBLE_EQ(percentile(values, 50), 5.5);
  EXPECT_DOUBLE_EQ(percentile(values, 0), 1);
  EXPECT_DOUBLE_EQ(percentile(values, 100), 10);
}

TEST(Stats, S171_OneTwoAndEqualValuesHaveTheirPercentiles) {
  EXPECT_DOUBLE_EQ(percentile(std::vector<double>{7}, 99), 7);
  EXPECT_DOUBLE_EQ(percentile(std::vector<double>{10, 20}, 99), 19.9);
  EXPECT_DOUBLE_EQ(percentile(std::vector<double>(50, 3.5), 99), 3.5);
}

TEST(Stats, S171_PercentilesAreThoseOfNumPy) {
  std::ifstream file(PAWL_SOURCE_DIR "/tests/golden/lab/percentiles.json");
  std::stringstream text;
  text << file.rdbuf();
  auto golden = base::parse_json(text.str());
  ASSERT_TRUE(golden.ok()) << golden.error().message;
  const auto& rows = *golden->find("rows")->as_array();
  ASSERT_EQ(rows.size(), 1000u);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& row = *rows[i].as_array();
    std::vector<double> values(static_cast<size_t>(*row[0].to_int64()));
    for (size_t j = 0; j < values.size(); ++j) values[j] = base::uniform(171, i, j) * 1000;
    const auto shown = summarize(values);
    ASSERT_TRUE(shown);
    std::sort(values.begin(), values.end());
    EXPECT_NEAR(percentile(values, 10), *row[1].to_double(), 1e-6);
    EXPECT_NEAR(shown->p50.value, *row[2].to_double(), 1e-6);
    EXPECT_NEAR(shown->p90.value, *row[3].to_double(), 1e-6);
    EXPECT_NEAR(shown->p99.value, *row[4].to_double(), 1e-6);
  }
}

TEST(Stats, S172_AMissingValueIsInNoFigure) {
  std::vector<std::optional<double>> values;
  for (int i = 0; i < 50; ++i) {
    values.push_back(i % 5 == 0 ? std::nullopt : std::optional<double>(100 + i % 2));
  }
  const auto summary = summarize(values);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->n, 40);
  EXPECT_EQ(summary->missing, 10);
  EXPECT_DOUBLE_EQ(summary->mean, 100.5);
  EXPECT_EQ(summary->least, 100);
  EXPECT_FALSE(summarize(std::vector<std::optional<double>>(5)));
  EXPECT_FALSE(summarize(std::vector<double>()));
}

TEST(Stats, S168_AP99OfSixtyIsMarkedAndUnbounded) {
  std::vector<double> values(60);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const Percentile p99 = percentile_with_interval(values, 99);
  EXPECT_TRUE(p99.is_few);
  EXPECT_FALSE(p99.high);  // with 60 values the largest may well be below the 99th percentile
  EXPECT_TRUE(p99.low);
  EXPECT_FALSE(percentile_with_interval(values, 90).is_few);
  EXPECT_FALSE(percentile_with_interval(std::vector<double>(100, 1), 99).is_few);
}

TEST(Stats, S168_TheIntervalOfP90CoversTheTruth) {
  const double truth = 300 * std::exp(0.5 * 1.2815515655446004);
  for (const size_t n : {60u, 200u}) {
    int covered = 0;
    constexpr int kRuns = 1000;
    for (uint64_t run = 0; run < kRuns; ++run) {
      std::vector<double> values(n);
      for (size_t i = 0; i < n; ++i)
        values[i] = 300 * std::exp(0.5 * standard_normal(run + 168, i));
      const Percentile p90 = percentile_with_interval(values, 90, 0.90);
      if (p90.low && p90.high) covered += *p90.low <= truth && truth <= *p90.high;
    }
    EXPECT_GE(covered, 850) << n;
    EXPECT_LE(covered, 950) << n;
  }
}

TEST(Stats, S160_TwoPopulationsAreToldApart) {
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) {
    values.push_back((i % 2 == 0 ? 50 : 500) *
                     (1 + 0.1 * standard_normal(160, static_cast<uint64_t>(i))));
  }
  const auto groups = two_groups(values);
  ASSERT_TRUE(groups);
  EXPECT_NEAR(groups->low_median, 50, 5);
  EXPECT_NEAR(groups->high_median, 500, 50);
  EXPECT_EQ(groups->low_n, 20);
  EXPECT_EQ(groups->high_n, 20);
}

TEST(Stats, S160_OneWideGroupIsNotTwo) {
  int alarms = 0, runs = 0;
  for (const size_t n : {10u, 20u, 60u, 300u}) {
    for (uint64_t run = 0; run < 500; ++run, ++runs) {
      std::vector<double> values(n);
      for (size_t i = 0; i < n; ++i) {
        values[i] = std::max(1.0, 100 * (1 + 0.3 * standard_normal(run * 10 + n, i)));
      }
      alarms += two_groups(values).has_value();
    }
  }
  EXPECT_LE(alarms, runs / 100) << "of " << runs;
}

// Published tables of Student's t, two-sided.
TEST(Stats, StudentsFactorAgreesWithPublishedTables) {
  EXPECT_NEAR(student_factor(1, 0.95), 12.706, 5e-4);
  EXPECT_NEAR(student_factor(2, 0.95), 4.303, 5e-4);
  EXPECT_NEAR(student_factor(7, 0.95), 2.365, 5e-4);
  EXPECT_NEAR(student_factor(30, 0.95), 2.042, 5e-4);
  EXPECT_NEAR(student_factor(10, 0.99), 3.169, 5e-4);
  EXPECT_NEAR(student_factor(7, 0.998), 4.785, 5e-4);
  EXPECT_NEAR(student_factor(1'000'000, 0.95), 1.960, 1e-3);
}

// Mean 3, deviation sqrt(2.5), five values: 3 ± 2.776 · 0.7071.
TEST(Stats, MeanHasAnInterval) {
  const std::vector<double> values = {1, 2, 3, 4, 5};
  const auto interval = mean_interval(values);
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->low, 1.037, 1e-3);
  EXPECT_NEAR(interval->high, 4.963, 1e-3);
  EXPECT_FALSE(mean_interval(std::span(values).first(1)).has_value());
}

}  // namespace
}  // namespace pawl::lab
