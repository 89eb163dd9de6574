// SPDX-License-Identifier: Apache-2.0
#include "lab/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/check.h"
#include "base/rng.h"

namespace pawl::lab {
namespace {

// A sample that decides its own fitted value tells nothing about the noise.
constexpr double kMostLeverage = 0.99;

// Samples with the same x, and so the same fitted value.
struct Places {
  std::vector<size_t> of;      // [sample]
  std::vector<double> counts;  // [place]
  // Logarithm of the fitted value around its mean over the samples; zeros when one has none, which
  // makes the variance a constant.
  std::vector<double> logs;  // [place]
};

Places places_of(const Fit& fit) {
  std::map<double, size_t> numbers;
  Places places;
  bool have_logs = true;
  double mean = 0;
  for (size_t i = 0; i < fit.samples.size(); ++i) {
    const auto [found, is_new] = numbers.try_emplace(fit.samples[i].x, numbers.size());
    if (is_new) {
      have_logs = have_logs && fit.fitted[i] > 0;
      places.counts.push_back(0);
      places.logs.push_back(have_logs ? std::log(fit.fitted[i]) : 0);
    }
    places.of.push_back(found->second);
    places.counts[found->second] += 1;
    mean += places.logs[found->second] / static_cast<double>(fit.samples.size());
  }
  for (double& value : places.logs) value = have_logs ? value - mean : 0;
  return places;
}

// Variance of the relative residuals at each place, from the sums of their squares there: a power
// of the fitted time, mixed with what that place itself shows.
std::vector<double> smooth_variances(const std::vector<double>& sums, const Places& places) {
  const size_t n = sums.size();
  // The power by scoring, held back by a prior so that few values cannot make it run away.
  constexpr double kPrior = 2, kMostPower = 3;
  constexpr int kRounds = 4;
  double spread = kPrior, power = 0, level = 0, count = 0;
  for (size_t p = 0; p < n; ++p) {
    spread += places.counts[p] * places.logs[p] * places.logs[p];
    count += places.counts[p];
  }
  std::vector<double> shape(n, 1);
  for (int round = 0; round <= kRounds; ++round) {
    level = 0;
    for (size_t p = 0; p < n; ++p) level += sums[p] / shape[p] / count;
    if (round == kRounds || !(level > 0)) break;
    double score = -kPrior * power;
    for (size_t p = 0; p < n; ++p) {
      score += places.logs[p] * (sums[p] / (level * shape[p]) - places.counts[p]);
    }
    power = std::clamp(power + std::clamp(score / spread, -1.0, 1.0), -kMostPower, kMostPower);
    for (size_t p = 0; p < n; ++p) shape[p] = std::exp(power * places.logs[p]);
  }
  // Five values' worth of the power law for the repetitions of one length.
  constexpr double kLawWorth = 5;
  std::vector<double> variances(n);
  for (size_t p = 0; p < n; ++p) {
    variances[p] = (sums[p] + kLawWorth * level * shape[p]) / (places.counts[p] + kLawWorth);
  }
  return variances;
}

// To mean 0 and mean square 1.
void standardize(std::vector<double>& values) {
  const double mean = mean_of(values);
  double square = 0;
  for (double& value : values) {
    value -= mean;
    square += value * value / static_cast<double>(values.size());
  }
  for (double& value : values) value = square > 0 ? value / std::sqrt(square) : 0;
}

double standard_error(const std::vector<double>& square_gains,
                      const std::vector<double>& variances) {
  double sum = 0;
  for (size_t p = 0; p < variances.size(); ++p) sum += square_gains[p] * variances[p];
  return std::sqrt(sum);
}

}  // namespace

Bootstrap::Bootstrap(const Fit& fit, uint64_t seed, int draws)
    : coefficients_(fit.coefficients), influence_(fit.influence) {
  PAWL_CHECK(draws > 0);
  const size_t n = fit.samples.size(), terms = coefficients_.size();
  const Places places = places_of(fit);
  places_ = places.of;
  std::vector<double> shrink(n), standard(n), errors(n), deviation(terms);
  std::vector<double> sums(places.counts.size(), 0), roots(places.counts.size());
  std::vector<std::vector<double>> columns(terms, std::vector<double>(n));  // weighted powers of x
  for (size_t i = 0; i < n; ++i) {
    shrink[i] = 1 / std::sqrt(1 - std::min(fit.leverage[i], kMostLeverage));
    standard[i] = fit.residuals[i] * shrink[i];
    sums[places_[i]] += standard[i] * standard[i];
    const std::vector<double> factors = fit.value_factors(fit.samples[i].x);
    for (size_t k = 0; k < terms; ++k) columns[k][i] = factors[k] * fit.roots[i];
  }
  variances_ = smooth_variances(sums, places);
  for (size_t p = 0; p < roots.size(); ++p) roots[p] = std::sqrt(variances_[p]);
  for (size_t i = 0; i < n; ++i) {
    standard[i] = roots[places_[i]] > 0 ? standard[i] / roots[places_[i]] : 0;
  }
  standardize(standard);

  for (int draw = 0; draw < draws; ++draw) {
    std::fill(deviation.begin(), deviation.end(), 0);
    std::fill(sums.begin(), sums.end(), 0);
    for (size_t i = 0; i < n; ++i) {
      const double at = base::uniform(seed, static_cast<uint64_t>(draw), i);
      const auto chosen = std::min(static_cast<size_t>(at * static_cast<double>(n)), n - 1);
      errors[i] = standard[chosen] * roots[places_[i]];
      for (size_t k = 0; k < terms; ++k) deviation[k] += influence_[k][i] * errors[i];
    }
    for (size_t i = 0; i < n; ++i) {
      double rest = errors[i];
      for (size_t k = 0; k < terms; ++k) rest -= deviation[k] * columns[k][i];
      sums[places_[i]] += rest * rest * shrink[i] * shrink[i];
    }
    draw_variances_.push_back(smooth_variances(sums, places));
    deviations_.push_back(deviation);
  }
}

std::vector<double> Bootstrap::values(std::span<const double> factors) const {
  PAWL_CHECK(factors.size() == coefficients_.size());
  double centre = 0;
  for (size_t k = 0; k < factors.size(); ++k) centre += factors[k] * coefficients_[k];
  std::vector<double> square_gains(variances_.size(), 0);  // [place], of the combination
  for (size_t i = 0; i < places_.size(); ++i) {
    double gain = 0;
    for (size_t k = 0; k < factors.size(); ++k) gain += factors[k] * influence_[k][i];
    square_gains[places_[i]] += gain * gain;
  }
  const double error = standard_error(square_gains, variances_);
  std::vector<double> values(deviations_.size(), centre);
  for (size_t draw = 0; draw < values.size(); ++draw) {
    double deviation = 0;
    for (size_t k = 0; k < factors.size(); ++k) deviation += factors[k] * deviations_[draw][k];
    const double own_error = standard_error(square_gains, draw_variances_[draw]);
    if (own_error > 0) values[draw] -= error * deviation / own_error;
  }
  return values;
}

Interval Bootstrap::interval(std::span<const double> factors, double confidence) const {
  return middle_of(values(factors), confidence);
}

Interval middle_of(std::vector<double> values, double confidence) {
  std::sort(values.begin(), values.end());
  const double outside = (1 - confidence) * 50;
  return {percentile(values, outside), percentile(values, 100 - outside)};
}

}  // namespace pawl::lab
