// SPDX-License-Identifier: Apache-2.0
// The published table of docs/latency.md (Llama-3.3-70B, one request at a time) and the figures
// that were published with it, and curves whose coefficients are known.
#include "lab/fit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pawl::lab {
namespace {

constexpr double kPrompt[] = {128, 1024, 2048, 3072, 4096, 8192, 16384, 32000};
constexpr double kFirst[] = {361.49, 723.51, 1177.37, 2108.25, 2108.19, 4141.66, 8655.87, 19826.68};
constexpr double kPerToken[] = {18.39, 22.05, 22.41, 23.50, 23.95, 27.43, 34.28, 48.07};

std::vector<Sample> table(const double (&y)[8]) {
  std::vector<Sample> samples;
  for (int i = 0; i < 8; ++i) samples.push_back({kPrompt[i], y[i]});
  return samples;
}

TEST(Fit, PlainLeastSquaresGiveThePublishedNegativeStartUp) {
  auto fit = fit_curve(table(kFirst), {0, 1}, Weights::kEqual);
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->coefficient(0), -161, 0.5);
  EXPECT_NEAR(fit->coefficient(1), 0.603, 0.0005);
  EXPECT_NEAR(fit->r2, 0.992, 0.0005);
}

TEST(Fit, RelativeWeightsGiveThePublishedCurves) {
  auto line = fit_curve(table(kFirst), {0, 1}, Weights::kRelative);
  ASSERT_TRUE(line.ok());
  EXPECT_NEAR(line->coefficient(0), 275, 0.5);
  EXPECT_NEAR(line->coefficient(1), 0.498, 0.0005);
  auto bent = fit_curve(table(kFirst), {0, 1, 2}, Weights::kRelative);
  ASSERT_TRUE(bent.ok());
  EXPECT_NEAR(bent->coefficient(0), 300, 0.5);
  EXPECT_NEAR(bent->coefficient(1), 0.441, 0.0005);
  EXPECT_NEAR(bent->coefficient(2), 4.96e-6, 0.005e-6);
}

TEST(Fit, TimePerTokenGivesThePublishedLine) {
  auto fit = fit_curve(table(kPerToken), {0, 1}, Weights::kEqual);
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->coefficient(0), 20.2, 0.05);
  EXPECT_NEAR(fit->coefficient(1), 0.00087, 0.000005);
}

TEST(Fit, ExactCurvesAreFoundWithEveryWeight) {
  for (const Weights weights : {Weights::kEqual, Weights::kRelative, Weights::kRelativeToFit}) {
    std::vector<Sample> samples;
    for (const double x : {1.0, 10.0, 100.0, 1000.0, 30000.0}) {
      samples.push_back({x, 12 + 0.25 * x + 3e-6 * x * x});
    }
    auto fit = fit_curve(samples, {0, 1, 2}, weights);
    ASSERT_TRUE(fit.ok());
    EXPECT_NEAR(fit->coefficient(0), 12, 1e-5);
    EXPECT_NEAR(fit->coefficient(1), 0.25, 1e-7);
    EXPECT_NEAR(fit->coefficient(2), 3e-6, 1e-11);
    EXPECT_NEAR(fit->slope_at(1000), 0.25 + 6e-3, 1e-7);
    double trace = 0;
    for (const double leverage : fit->leverage) trace += leverage;
    EXPECT_NEAR(trace, 3, 1e-9);  // the sum of leverages is the number of coefficients
  }
}

TEST(Fit, ACurveThroughTheOriginHasNoConstant) {
  auto fit = fit_curve(std::vector<Sample>{{1, 2}, {2, 4.2}, {4, 7.8}}, {1}, Weights::kEqual);
  ASSERT_TRUE(fit.ok());
  EXPECT_EQ(fit->coefficient(0), 0);
  EXPECT_NEAR(fit->coefficient(1), (2 + 8.4 + 31.2) / 21, 1e-12);
}

TEST(Fit, WhatCannotBeFittedIsRefusedByName) {
  const auto message = [](std::vector<Sample> samples, Weights weights) {
    auto fit = fit_curve(samples, {0, 1}, weights);
    return fit.ok() ? std::string("accepted") : fit.error().message;
  };
  EXPECT_NE(message({{1, 1}, {2, 2}}, Weights::kEqual).find("2 values"), std::string::npos);
  EXPECT_NE(message({{5, 1}, {5, 2}, {5, 3}}, Weights::kEqual).find("1 different lengths"),
            std::string::npos);
  EXPECT_NE(message({{1, 1}, {2, 0}, {3, 3}}, Weights::kRelative).find("not positive"),
            std::string::npos);
  EXPECT_NE(message({{1, 1}, {2, NAN}, {3, 3}}, Weights::kEqual).find("not finite"),
            std::string::npos);
}

}  // namespace
}  // namespace pawl::lab
