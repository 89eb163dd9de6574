// SPDX-License-Identifier: Apache-2.0
// How far two rows of logits are apart.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace pawl::tests {

inline double log_sum_exp(std::span<const float> row) {
  const double most = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float x : row) sum += std::exp(static_cast<double>(x) - most);
  return most + std::log(sum);
}

// A failure where something is no number: no comparison would notice.
inline double largest_difference(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double off = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (std::isnan(off)) {
      ADD_FAILURE() << "no number at " << i;
      return off;
    }
    most = std::max(most, off);
  }
  return most;
}

// KL(p || q) in nats over the whole vocabulary.
inline double divergence(std::span<const float> p, std::span<const float> q) {
  const double lp = log_sum_exp(p), lq = log_sum_exp(q);
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double a = static_cast<double>(p[i]) - lp, b = static_cast<double>(q[i]) - lq;
    sum += std::exp(a) * (a - b);
  }
  return sum;
}

}  // namespace pawl::tests
