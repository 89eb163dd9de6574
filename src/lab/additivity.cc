// SPDX-License-Identifier: Apache-2.0
#include "lab/additivity.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace pawl::lab {
namespace {

// Relative noise of single requests beside the sum of both clocks, over all that were fitted.
double noise_of(const Split& split, std::span<const Point> points) {
  std::vector<double> ratios;
  for (const Point& point : points) {
    if (point.arm == kJointArm) continue;
    ratios.push_back(point.e2e_ms / split.mean_request_at(static_cast<double>(point.prompt),
                                                          static_cast<double>(point.output)));
  }
  return deviation_of(ratios);
}

}  // namespace

std::vector<Additivity> test_additivity(const Split& split, std::span<const Point> points,
                                        uint64_t seed) {
  std::map<std::pair<int64_t, int64_t>, std::vector<const Point*>> shapes;
  for (const Point& point : points) {
    if (point.arm == kJointArm) shapes[{point.prompt_asked, point.output_asked}].push_back(&point);
  }
  const double noise = noise_of(split, points);
  std::vector<Additivity> rows;
  for (const auto& [shape, members] : shapes) {
    Additivity row;
    std::tie(row.prompt, row.output) = shape;
    row.n = static_cast<int64_t>(members.size());
    std::vector<double> ratios;  // each against the prediction for its own counts
    for (const Point* point : members) {
      const double predicted = split.mean_request_at(static_cast<double>(point->prompt),
                                                     static_cast<double>(point->output));
      ratios.push_back(point->e2e_ms / predicted);
      row.measured_ms += point->e2e_ms / static_cast<double>(row.n);
    }
    const auto prompt = static_cast<double>(members.front()->prompt);
    const auto output = static_cast<double>(members.front()->output);
    row.predicted_ms = split.mean_request_ms(prompt, output);
    row.gap.value = mean_of(ratios) - 1;
    // A few requests that happen to be alike do not vary less than all others do. Both sides vary:
    // the prediction over its draws, the mean by its own requests. A mean of few needs the wider
    // spread of Student's t: for n requests about 1 + 1.5 / (n − 1).
    std::vector<double> draws = split.mean_request_draws(prompt, output);
    const double few = row.n > 1 ? 1 + 1.5 / static_cast<double>(row.n - 1) : 1;
    const double error =
        few * std::max(noise, deviation_of(ratios)) / std::sqrt(static_cast<double>(row.n));
    for (size_t draw = 0; draw < draws.size(); ++draw) {
      const double mean = mean_of(ratios) + error * standard_normal(seed, draw);
      draws[draw] = mean * row.predicted_ms.value / draws[draw] - 1;
    }
    row.gap.interval = middle_of(draws);
    const Interval sure = middle_of(draws, kSure);
    const bool is_beyond = sure.low > 0 || sure.high < 0;
    row.fails = row.n > 1 && is_beyond && std::abs(row.gap.value) > kMostGap;
    rows.push_back(row);
  }
  return rows;
}

std::optional<HeldOut> predict_held_out(const Split& split, std::span<const Point> points) {
  HeldOut held;
  std::vector<double> errors;
  for (const Point& point : points) {
    if (point.arm != kJointArm) continue;
    const Estimate single = split.single_request_ms(static_cast<double>(point.prompt),
                                                    static_cast<double>(point.output));
    held.covered += single.interval.low <= point.e2e_ms && point.e2e_ms <= single.interval.high;
    errors.push_back(std::abs(point.e2e_ms / single.value - 1));
  }
  if (errors.empty()) return std::nullopt;
  held.n = static_cast<int64_t>(errors.size());
  held.median_error = median_of(errors);
  return held;
}

}  // namespace pawl::lab
