// SPDX-License-Identifier: Apache-2.0
// Intervals for a fit by resampling its requests.
//
// The method, and why it is not the simplest one. Residuals are relative, divided by
// sqrt(1 − leverage), and by the deviation of their own place: a variance that depends on the
// fitted time as a power, mixed with what the repetitions at that length show. So standardised they
// are exchangeable, and are drawn with replacement over all requests. Each draw is fitted again and
// its deviation from the fit divided by its own standard error (bootstrap-t: Efron and Tibshirani,
// "An Introduction to the Bootstrap", 1993, chapter 12). Without that division intervals of 30
// requests cover 90 % where they say 95 %. What it covers is measured in bootstrap_test.cc.
// Threads: any; a Bootstrap is a value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/fit.h"
#include "lab/stats.h"

namespace pawl::lab {

inline constexpr int kDefaultDraws = 2000;

class Bootstrap {
 public:
  // Deterministic: the same fit, seed and number of draws give the same intervals.
  Bootstrap(const Fit& fit, uint64_t seed, int draws = kDefaultDraws);

  // For a linear combination of the coefficients: Fit::value_factors(x), slope_factors(x), …
  Interval interval(std::span<const double> factors, double confidence = 0.95) const;

  // Values the combination may have, one for each draw: their percentiles are interval(). For what
  // follows from several combinations; the same draw of the same Bootstrap belongs together.
  std::vector<double> values(std::span<const double> factors) const;

 private:
  std::vector<double> coefficients_;
  std::vector<std::vector<double>> influence_;  // [coefficient][sample]
  std::vector<size_t> places_;                  // [sample]: samples with the same x share a number
  std::vector<double> variances_;               // [place], of the relative residuals
  // One row for each draw.
  std::vector<std::vector<double>> deviations_;      // [draw][coefficient]
  std::vector<std::vector<double>> draw_variances_;  // [draw][place]
};

// The middle `confidence` of values. REQUIRES: not empty
Interval middle_of(std::vector<double> values, double confidence = 0.95);

}  // namespace pawl::lab
