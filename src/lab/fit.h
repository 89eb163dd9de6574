// SPDX-License-Identifier: Apache-2.0
// Least squares for the few curves of the lab: a + b·x, with a quadratic term, with or without the
// constant. Weights are relative, so that 1 % at 100 ms counts as much as 1 % at 10 s.
// Threads: any; a Fit is a value.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"

namespace pawl::lab {

struct Sample {
  double x = 0, y = 0;
};

enum class Weights {
  kEqual,          // 1
  kRelative,       // 1 / y²: for a table of medians, where nothing but the values is known
  kRelativeToFit,  // 1 / (fitted y)²: for single requests. 1 / y² would favour those that were fast
};

// y = sum over k of coefficients[k] · x^powers[k]
struct Fit {
  std::vector<int> powers;           // ascending: {0, 1} is a + b·x
  std::vector<double> coefficients;  // one for each power
  std::vector<Sample> samples;
  std::vector<double> fitted;     // at each sample
  std::vector<double> roots;      // square roots of the weights used
  std::vector<double> residuals;  // (y − fitted) · root: relative, of fits with relative weights
  std::vector<double> leverage;   // [0, 1]: how far a sample decides its own fitted value
  // [coefficient][sample]: how much the coefficient moves with the weighted residual of a sample.
  std::vector<std::vector<double>> influence;
  double r2 = 0;  // share of the variance of y, unweighted; proves nothing by itself

  double at(double x) const;
  double slope_at(double x) const;
  // Coefficient of x^power, 0 where the curve has no such term.
  double coefficient(int power) const;
  // Factors that give the value, or the slope, at x from the coefficients.
  std::vector<double> value_factors(double x) const;
  std::vector<double> slope_factors(double x) const;
  std::vector<double> coefficient_factors(int power) const;  // REQUIRES: powers has it
};

// Error kInvalidArgument: fewer samples than terms plus one, not enough different x, or values that
// are not finite, or not positive where weights are relative.
base::Result<Fit> fit_curve(std::span<const Sample> samples, std::vector<int> powers,
                            Weights weights = Weights::kRelativeToFit);

}  // namespace pawl::lab
