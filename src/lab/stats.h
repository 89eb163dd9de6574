// SPDX-License-Identifier: Apache-2.0
// What a list of measured values says: percentiles by linear interpolation with intervals of their
// own, and whether one number can stand for the list at all. Units are the caller's.
// Threads: any; nothing here has state.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace pawl::lab {

// Confidence of what voids a result: one false alarm in 500 looks.
inline constexpr double kSure = 0.998;

struct Interval {
  double low = 0, high = 0;
};

// Below this many values a 99th percentile is marked: it hangs on one or two of them.
inline constexpr int64_t kEnoughForP99 = 100;

// The percentile `percent` of values that ascend, linear between the two nearest (type 7 of
// Hyndman and Fan, "Sample quantiles in statistical packages", 1996): p90 of 1 … 10 is 9.1.
// REQUIRES: not empty, 0 <= percent <= 100
double percentile(std::span<const double> ascending, double percent);

double mean_of(std::span<const double> values);       // REQUIRES: not empty
double median_of(std::span<const double> values);     // REQUIRES: not empty
double deviation_of(std::span<const double> values);  // sample standard deviation; 0 for one value

// By how many standard errors the mean of a normal sample is off at most, with that confidence:
// Student's t, two-sided. REQUIRES: degrees >= 1, 0 < confidence < 1
double student_factor(int64_t degrees, double confidence);
// What the mean of more such values may be. Nothing for fewer than two: they show no spread.
std::optional<Interval> mean_interval(std::span<const double> values, double confidence = 0.95);

// A standard normal number, a function of its arguments alone. base::uniform's draws 1 and 2.
double standard_normal(uint64_t seed, uint64_t position);

struct Percentile {
  double percent = 0;
  double value = 0;
  std::optional<double> low, high;  // nothing: no value of the list bounds it on that side
  bool is_few = false;              // a p99 or above of fewer than kEnoughForP99 values
};

// The interval is that of order statistics, interpolated between the two whose confidences enclose
// the one asked for: it holds for every continuous distribution. REQUIRES: not empty
Percentile percentile_with_interval(std::span<const double> values, double percent,
                                    double confidence = 0.95);

struct Summary {
  int64_t n = 0;        // values there were; those that are missing are in no figure
  int64_t missing = 0;  // requests without such a value
  double mean = 0, deviation = 0, least = 0, most = 0;
  Percentile p50, p90, p95, p99;
};

// Nothing without any value: no value is never 0.
std::optional<Summary> summarize(std::span<const double> values);
std::optional<Summary> summarize(std::span<const std::optional<double>> values);

// Two kinds of requests in one list: a mean of both describes neither.
struct TwoGroups {
  double low_median = 0, high_median = 0;
  int64_t low_n = 0, high_n = 0;
  double boundary = 0;  // values above it are of the high group
};
// Compares logarithms, so that a wide tail alone is no second group. Nothing for one group, for
// fewer than 10 values or for values that are not positive.
std::optional<TwoGroups> two_groups(std::span<const double> values);

}  // namespace pawl::lab
