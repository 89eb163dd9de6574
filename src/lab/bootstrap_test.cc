// SPDX-License-Identifier: Apache-2.0
// What the intervals cover, on simulated requests whose truth is known.
#include "lab/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace pawl::lab {
namespace {

constexpr int kRuns = 1000, kDraws = 1000;
constexpr double kStart = 20, kPerToken = 0.5;

// The relative noise of a request whose true time is `ms`, from a standard normal number.
using Noise = std::function<double(double ms, double z)>;

struct Coverage {
  int start = 0, slope = 0, value = 0, exchange = 0;
};

// Sweeps of 6 lengths and `reps` repetitions each, and a second arm for the time per token.
Coverage cover(const Noise& noise, int reps, uint64_t seed) {
  constexpr double kLengths[] = {32, 128, 256, 512, 1024, 2048};
  constexpr double kTokenMs = 12;
  Coverage covered;
  for (uint64_t run = 0; run < kRuns; ++run) {
    std::vector<Sample> first, tail;
    uint64_t request = 0;
    for (int rep = 0; rep < reps; ++rep) {
      for (const double x : kLengths) {
        const double ms = kStart + kPerToken * x;
        first.push_back({x, ms * (1 + noise(ms, standard_normal(seed * 10000 + run, request++)))});
        const double token = kTokenMs + 0.001 * x;
        tail.push_back({x, token * (1 + 0.03 * standard_normal(seed * 10000 + run, request++))});
      }
    }
    auto fit = fit_curve(first, {0, 1});
    auto tail_fit = fit_curve(tail, {0, 1});
    if (!fit.ok() || !tail_fit.ok()) continue;
    const Bootstrap bootstrap(*fit, run, kDraws), tail_bootstrap(*tail_fit, run + kRuns, kDraws);
    const auto holds = [](const Interval& interval, double truth) {
      return interval.low <= truth && truth <= interval.high;
    };
    covered.start += holds(bootstrap.interval(fit->coefficient_factors(0)), kStart);
    covered.slope += holds(bootstrap.interval(fit->coefficient_factors(1)), kPerToken);
    covered.value += holds(bootstrap.interval(fit->value_factors(700)), kStart + kPerToken * 700);
    std::vector<double> ratio = tail_bootstrap.values(tail_fit->value_factors(600));
    const std::vector<double> slope = bootstrap.values(fit->slope_factors(600));
    for (size_t draw = 0; draw < ratio.size(); ++draw) ratio[draw] /= slope[draw];
    covered.exchange += holds(middle_of(ratio), (kTokenMs + 0.6) / kPerToken);
  }
  return covered;
}

void expect_between(const Coverage& covered, int low, int high) {
  for (const int count : {covered.start, covered.slope, covered.value, covered.exchange}) {
    EXPECT_GE(count, low);
    EXPECT_LE(count, high);
  }
  std::printf("of %d runs: start-up %d, per token %d, value %d, exchange rate %d\n", kRuns,
              covered.start, covered.slope, covered.value, covered.exchange);
}

TEST(Bootstrap, IntervalsCoverTheTruthWithOneRelativeNoise) {
  expect_between(cover([](double, double z) { return 0.05 * z; }, 5, 1), 930, 970);
}

TEST(Bootstrap, IntervalsCoverTheTruthWithASkewedNoise) {
  expect_between(cover([](double, double z) { return std::exp(0.2 * z - 0.02) - 1; }, 5, 2), 930,
                 970);
}

TEST(Bootstrap, IntervalsCoverTheTruthWithNoiseThatGrowsWithTheTime) {
  expect_between(cover([](double ms, double z) { return 0.02 * std::sqrt(ms / 30) * z; }, 5, 3),
                 930, 970);
}

TEST(Bootstrap, IntervalsCoverTheTruthWithThreeRepetitions) {
  expect_between(cover([](double, double z) { return 0.05 * z; }, 3, 4), 930, 970);
}

// The hardest kind for few requests: one short length has four times the relative noise of others.
TEST(Bootstrap, IntervalsAreLittleTooNarrowWithAFixedJitterOfShortRequests) {
  expect_between(cover([](double ms, double z) { return z * std::hypot(0.03, 4 / ms); }, 5, 5), 915,
                 970);
}

TEST(Bootstrap, IsTheSameForTheSameSeedAndAnotherForAnother) {
  std::vector<Sample> samples;
  for (uint64_t i = 0; i < 20; ++i) {
    const double x = 10.0 * static_cast<double>(i % 5 + 1);
    samples.push_back({x, (5 + x) * (1 + 0.1 * standard_normal(9, i))});
  }
  auto fit = fit_curve(samples, {0, 1});
  ASSERT_TRUE(fit.ok());
  const auto slope = fit->coefficient_factors(1);
  EXPECT_EQ(Bootstrap(*fit, 1).values(slope), Bootstrap(*fit, 1).values(slope));
  EXPECT_NE(Bootstrap(*fit, 1).values(slope), Bootstrap(*fit, 2).values(slope));
}

TEST(Bootstrap, ExactDataHaveAnIntervalWithoutWidth) {
  auto fit = fit_curve(std::vector<Sample>{{1, 3}, {2, 5}, {3, 7}, {4, 9}}, {0, 1});
  ASSERT_TRUE(fit.ok());
  const Interval slope = Bootstrap(*fit, 1).interval(fit->coefficient_factors(1));
  EXPECT_NEAR(slope.low, 2, 1e-9);
  EXPECT_NEAR(slope.high, 2, 1e-9);
}

}  // namespace
}  // namespace pawl::lab
