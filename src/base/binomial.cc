// SPDX-License-Identifier: Apache-2.0
#include "base/binomial.h"

#include <cmath>

#include "base/check.h"

namespace pawl::base {
namespace {

// P(X >= hits) of `trials` draws with share p. Terms are added from the logarithm of the first, so
// that none underflows while it matters.
double upper_tail(int64_t hits, int64_t trials, double p) {
  if (hits <= 0) return 1;
  if (p <= 0) return 0;
  if (p >= 1) return 1;
  const auto n = static_cast<double>(trials);
  double sum = 0;
  for (int64_t i = hits; i <= trials; ++i) {
    const auto k = static_cast<double>(i);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                    k * std::log(p) + (n - k) * std::log1p(-p));
  }
  return sum;
}

// Where the growing function reaches `wanted`.
template <typename F>
double where(double wanted, F&& growing) {
  constexpr int kHalvings = 60;
  double low = 0, high = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (growing(middle) < wanted ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

Interval clopper_pearson(int64_t hits, int64_t trials, double confidence) {
  PAWL_CHECK(0 <= hits && hits <= trials && confidence > 0 && confidence < 1);
  const double tail = (1 - confidence) / 2;
  Interval interval;
  if (hits > 0) interval.low = where(tail, [&](double p) { return upper_tail(hits, trials, p); });
  // P(X <= hits) = tail, that is P(X >= hits + 1) = 1 - tail.
  if (hits < trials) {
    interval.high = where(1 - tail, [&](double p) { return upper_tail(hits + 1, trials, p); });
  }
  return interval;
}

}  // namespace pawl::base
