// SPDX-License-Identifier: Apache-2.0
#include "lab/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"

namespace pawl::lab {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

using Matrix = std::vector<std::vector<double>>;  // [row][column]

// The inverse by elimination with pivots; nothing when it has none.
bool invert(Matrix& matrix) {
  const size_t n = matrix.size();
  Matrix inverse(n, std::vector<double>(n, 0));
  for (size_t i = 0; i < n; ++i) inverse[i][i] = 1;
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < n; ++row) {
      if (std::abs(matrix[row][column]) > std::abs(matrix[pivot][column])) pivot = row;
    }
    constexpr double kSingular = 1e-13;  // columns are scaled to length 1
    if (!(std::abs(matrix[pivot][column]) > kSingular)) return false;
    std::swap(matrix[pivot], matrix[column]);
    std::swap(inverse[pivot], inverse[column]);
    const double scale = 1 / matrix[column][column];
    for (size_t k = 0; k < n; ++k) matrix[column][k] *= scale, inverse[column][k] *= scale;
    for (size_t row = 0; row < n; ++row) {
      if (row == column) continue;
      const double factor = matrix[row][column];
      for (size_t k = 0; k < n; ++k) {
        matrix[row][k] -= factor * matrix[column][k];
        inverse[row][k] -= factor * inverse[column][k];
      }
    }
  }
  matrix = std::move(inverse);
  return true;
}

double power_of(double x, int power) {
  double product = 1;
  for (int i = 0; i < power; ++i) product *= x;
  return product;
}

// One weighted solution, with leverage and influence; false when the columns depend on each other.
bool solve(Fit& fit) {
  const size_t terms = fit.powers.size(), n = fit.samples.size();
  Matrix columns(terms, std::vector<double>(n));
  std::vector<double> lengths(terms, 0);
  for (size_t k = 0; k < terms; ++k) {
    for (size_t i = 0; i < n; ++i) {
      columns[k][i] = power_of(fit.samples[i].x, fit.powers[k]) * fit.roots[i];
      lengths[k] += columns[k][i] * columns[k][i];
    }
    lengths[k] = std::sqrt(lengths[k]);
    if (!(lengths[k] > 0)) return false;
    for (double& entry : columns[k]) entry /= lengths[k];
  }
  Matrix normal(terms, std::vector<double>(terms, 0));
  for (size_t k = 0; k < terms; ++k) {
    for (size_t j = 0; j < terms; ++j) {
      for (size_t i = 0; i < n; ++i) normal[k][j] += columns[k][i] * columns[j][i];
    }
  }
  if (!invert(normal)) return false;
  fit.influence.assign(terms, std::vector<double>(n, 0));
  fit.leverage.assign(n, 0);
  fit.coefficients.assign(terms, 0);
  for (size_t k = 0; k < terms; ++k) {
    for (size_t i = 0; i < n; ++i) {
      double entry = 0;
      for (size_t j = 0; j < terms; ++j) entry += normal[k][j] * columns[j][i];
      fit.leverage[i] += entry * columns[k][i];
      fit.influence[k][i] = entry / lengths[k];
      fit.coefficients[k] += fit.influence[k][i] * fit.samples[i].y * fit.roots[i];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    fit.fitted[i] = fit.at(fit.samples[i].x);
    fit.residuals[i] = (fit.samples[i].y - fit.fitted[i]) * fit.roots[i];
  }
  return true;
}

Result<void> check(std::span<const Sample> samples, size_t terms, Weights weights) {
  const auto refuse = [](std::string message) {
    return Error{ErrorCode::kInvalidArgument, std::move(message), ""};
  };
  if (samples.size() < terms + 1) {
    return refuse(fmt::format("{} values for {} coefficients, at least {}", samples.size(), terms,
                              terms + 1));
  }
  std::set<double> places;
  for (const Sample& sample : samples) {
    if (!std::isfinite(sample.x) || !std::isfinite(sample.y))
      return refuse("a value is not finite");
    if (weights != Weights::kEqual && sample.y <= 0) {
      return refuse(fmt::format("{} is not positive, as relative weights need it", sample.y));
    }
    places.insert(sample.x);
  }
  if (places.size() < terms) {
    return refuse(fmt::format("{} different lengths for {} coefficients", places.size(), terms));
  }
  return {};
}

double r2_of(const Fit& fit) {
  double mean = 0, total = 0, rest = 0;
  for (const Sample& sample : fit.samples)
    mean += sample.y / static_cast<double>(fit.samples.size());
  for (size_t i = 0; i < fit.samples.size(); ++i) {
    const double y = fit.samples[i].y;
    total += (y - mean) * (y - mean);
    rest += (y - fit.fitted[i]) * (y - fit.fitted[i]);
  }
  return total > 0 ? 1 - rest / total : 0;
}

}  // namespace

double Fit::at(double x) const {
  double sum = 0;
  for (size_t k = 0; k < powers.size(); ++k) sum += coefficients[k] * power_of(x, powers[k]);
  return sum;
}

double Fit::slope_at(double x) const {
  const std::vector<double> factors = slope_factors(x);
  double sum = 0;
  for (size_t k = 0; k < powers.size(); ++k) sum += coefficients[k] * factors[k];
  return sum;
}

double Fit::coefficient(int power) const {
  for (size_t k = 0; k < powers.size(); ++k) {
    if (powers[k] == power) return coefficients[k];
  }
  return 0;
}

std::vector<double> Fit::value_factors(double x) const {
  std::vector<double> factors(powers.size());
  for (size_t k = 0; k < powers.size(); ++k) factors[k] = power_of(x, powers[k]);
  return factors;
}

std::vector<double> Fit::slope_factors(double x) const {
  std::vector<double> factors(powers.size(), 0);
  for (size_t k = 0; k < powers.size(); ++k) {
    if (powers[k] > 0) factors[k] = powers[k] * power_of(x, powers[k] - 1);
  }
  return factors;
}

std::vector<double> Fit::coefficient_factors(int power) const {
  std::vector<double> factors(powers.size(), 0);
  const auto place = std::find(powers.begin(), powers.end(), power);
  PAWL_CHECK(place != powers.end());
  factors[static_cast<size_t>(place - powers.begin())] = 1;
  return factors;
}

Result<Fit> fit_curve(std::span<const Sample> samples, std::vector<int> powers, Weights weights) {
  PAWL_TRY_VOID(check(samples, powers.size(), weights));
  Fit fit;
  fit.powers = std::move(powers);
  fit.samples.assign(samples.begin(), samples.end());
  const size_t n = samples.size();
  fit.fitted.resize(n);
  fit.residuals.resize(n);
  fit.roots.assign(n, 1);
  if (weights != Weights::kEqual) {
    for (size_t i = 0; i < n; ++i) fit.roots[i] = 1 / samples[i].y;
  }
  // Weights of the fit depend on the fit: a few rounds settle them. A curve that goes below a tenth
  // of a value there keeps that value's weight, or one sample would outweigh all others.
  const int rounds = weights == Weights::kRelativeToFit ? 6 : 1;
  for (int round = 0; round < rounds; ++round) {
    if (round > 0) {
      for (size_t i = 0; i < n; ++i) fit.roots[i] = 1 / std::max(fit.fitted[i], samples[i].y * 0.1);
    }
    if (!solve(fit)) {
      return Error{ErrorCode::kInvalidArgument, "the lengths cannot tell the coefficients apart",
                   ""};
    }
  }
  fit.r2 = r2_of(fit);
  return fit;
}

}  // namespace pawl::lab
