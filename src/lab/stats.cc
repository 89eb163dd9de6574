// SPDX-License-Identifier: Apache-2.0
#include "lab/stats.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/rng.h"

namespace pawl::lab {
namespace {

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> ascending(values.begin(), values.end());
  std::sort(ascending.begin(), ascending.end());
  return ascending;
}

// P(X <= k) for k = -1 … n, shifted by one, of a binomial count.
std::vector<double> binomial_cdf(size_t n, double p) {
  std::vector<double> cdf(n + 2, 0);
  for (size_t k = 0; k <= n; ++k) {
    const double log_choose =
        std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0);
    const double log_p = k == 0 ? 0 : static_cast<double>(k) * std::log(p);
    const double log_q = k == n ? 0 : static_cast<double>(n - k) * std::log1p(-p);
    cdf[k + 1] = cdf[k] + std::exp(log_choose + log_p + log_q);
  }
  return cdf;
}

// The point between `first` (of confidence `first_level`) and `second` where the confidence is
// `level`.
double between(double first, double first_level, double second, double second_level, double level) {
  const double step = first_level - second_level;
  const double share = step > 0 ? (first_level - level) / step : 0;
  return first + share * (second - first);
}

}  // namespace

double percentile(std::span<const double> ascending, double percent) {
  PAWL_CHECK(!ascending.empty() && percent >= 0 && percent <= 100);
  const double place = percent / 100 * static_cast<double>(ascending.size() - 1);
  const size_t below = std::min(static_cast<size_t>(place), ascending.size() - 1);
  const size_t above = std::min(below + 1, ascending.size() - 1);
  const double share = place - static_cast<double>(below);
  return ascending[below] + share * (ascending[above] - ascending[below]);
}

double mean_of(std::span<const double> values) {
  PAWL_CHECK(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median_of(std::span<const double> values) {
  return percentile(sorted(values), 50);
}

double deviation_of(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double student_factor(int64_t degrees, double confidence) {
  PAWL_CHECK(degrees >= 1 && confidence > 0 && confidence < 1);
  constexpr int64_t kAsNormal = 10'000;
  const int64_t n = std::min(degrees, kAsNormal);
  // P(|T| <= t), in closed form: Abramowitz and Stegun, "Handbook of Mathematical Functions",
  // 26.7.3 and 26.7.4.
  const auto inside = [n](double t) {
    const double angle = std::atan(t / std::sqrt(static_cast<double>(n)));
    const double cosine = std::cos(angle);
    const bool is_odd = n % 2 == 1;
    double sum = 0, term = is_odd ? cosine : 1;
    for (int64_t k = is_odd ? 3 : 2; k <= n; k += 2) {
      sum += term;
      term *= cosine * cosine * static_cast<double>(k - 1) / static_cast<double>(k);
    }
    return is_odd ? 2 / M_PI * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
  };
  double low = 0, high = 1;
  while (inside(high) < confidence) high *= 2;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2;
    (inside(middle) < confidence ? low : high) = middle;
  }
  return high;
}

std::optional<Interval> mean_interval(std::span<const double> values, double confidence) {
  if (values.size() < 2) return std::nullopt;
  const double mean = mean_of(values);
  const double half = student_factor(static_cast<int64_t>(values.size()) - 1, confidence) *
                      deviation_of(values) / std::sqrt(static_cast<double>(values.size()));
  return Interval{mean - half, mean + half};
}

double standard_normal(uint64_t seed, uint64_t position) {
  // Box and Muller, "A note on the generation of random normal deviates", 1958.
  const double u = 1 - base::uniform(seed, position, 1);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * base::uniform(seed, position, 2));
}

Percentile percentile_with_interval(std::span<const double> values, double percent,
                                    double confidence) {
  const std::vector<double> ascending = sorted(values);
  const size_t n = ascending.size();
  Percentile result;
  result.percent = percent;
  result.value = percentile(ascending, percent);
  result.is_few = percent >= 99 && static_cast<int64_t>(n) < kEnoughForP99;
  const double p = percent / 100;
  const double level = 1 - (1 - confidence) / 2;  // of each side alone
  if (p <= 0 || p >= 1) return result;
  const std::vector<double> cdf = binomial_cdf(n, p);
  // The k-th smallest lies below the percentile with probability P(X >= k) = 1 - cdf[k].
  for (size_t k = n; k >= 1; --k) {
    if (1 - cdf[k] < level) continue;
    result.low = k == n
                     ? ascending[n - 1]
                     : between(ascending[k - 1], 1 - cdf[k], ascending[k], 1 - cdf[k + 1], level);
    break;
  }
  // It lies above with probability P(X <= k - 1) = cdf[k].
  for (size_t k = 1; k <= n; ++k) {
    if (cdf[k] < level) continue;
    result.high = k == 1 ? ascending[0]
                         : between(ascending[k - 1], cdf[k], ascending[k - 2], cdf[k - 1], level);
    break;
  }
  return result;
}

std::optional<Summary> summarize(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  const std::vector<double> ascending = sorted(values);
  Summary summary;
  summary.n = static_cast<int64_t>(values.size());
  summary.mean = mean_of(values);
  summary.deviation = deviation_of(values);
  summary.least = ascending.front();
  summary.most = ascending.back();
  summary.p50 = percentile_with_interval(ascending, 50);
  summary.p90 = percentile_with_interval(ascending, 90);
  summary.p95 = percentile_with_interval(ascending, 95);
  summary.p99 = percentile_with_interval(ascending, 99);
  return summary;
}

std::optional<Summary> summarize(std::span<const std::optional<double>> values) {
  std::vector<double> present;
  for (const auto& value : values) {
    if (value) present.push_back(*value);
  }
  auto summary = summarize(present);
  if (summary) summary->missing = static_cast<int64_t>(values.size() - present.size());
  return summary;
}

std::optional<TwoGroups> two_groups(std::span<const double> values) {
  constexpr size_t kFewest = 10;
  // The best cut of one normal group explains 64 % of its variance and of a uniform one 75 %; the
  // margin above is for small lists. A group is more than a tail: two values and a tenth of all.
  constexpr double kExplained = 0.89;
  if (values.size() < kFewest) return std::nullopt;
  const std::vector<double> ascending = sorted(values);
  if (ascending.front() <= 0) return std::nullopt;
  const size_t n = ascending.size();
  std::vector<double> logs(n);
  std::transform(ascending.begin(), ascending.end(), logs.begin(),
                 [](double x) { return std::log(x); });
  const double mean = mean_of(logs);
  double total = 0, sum = 0, best = 0;
  for (const double value : logs) total += (value - mean) * (value - mean);
  size_t cut = 0;
  for (size_t k = 1; k < n; ++k) {
    sum += logs[k - 1] - mean;
    const double share = sum * sum * static_cast<double>(n) / static_cast<double>(k * (n - k));
    const bool is_group = std::min(k, n - k) * 10 >= n && std::min(k, n - k) >= 2;
    if (is_group && share > best) best = share, cut = k;
  }
  if (cut == 0 || total <= 0 || best < kExplained * total) return std::nullopt;
  TwoGroups groups;
  const std::span<const double> all(ascending);
  groups.low_median = percentile(all.first(cut), 50);
  groups.high_median = percentile(all.subspan(cut), 50);
  // Groups that differ by little are one for every purpose of a reader.
  constexpr double kApart = 1.3;
  if (groups.high_median < kApart * groups.low_median) return std::nullopt;
  groups.low_n = static_cast<int64_t>(cut);
  groups.high_n = static_cast<int64_t>(n - cut);
  groups.boundary = (ascending[cut - 1] + ascending[cut]) / 2;
  return groups;
}

}  // namespace pawl::lab
