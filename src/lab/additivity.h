// SPDX-License-Identifier: Apache-2.0
// Whether the two clocks of a Split add up, and how well they predict requests that no fit has
// seen.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lab/split.h"

namespace pawl::lab {

// T(P, O) measured together, beside the sum of the two clocks measured apart.
struct Additivity {
  int64_t prompt = 0, output = 0, n = 0;  // tokens asked for; requests
  double measured_ms = 0;                 // mean
  Estimate predicted_ms;                  // mean
  Estimate gap;                           // measured / predicted − 1
  // Not 0, with the confidence kSure, and above 5 %: start-up and tail are no longer two things.
  bool fails = false;
};
inline constexpr double kMostGap = 0.05;
// One row for each shape of the arm "joint". REQUIRES: split.is_usable()
std::vector<Additivity> test_additivity(const Split& split, std::span<const Point> points,
                                        uint64_t seed);

// How well single held-out requests were predicted.
struct HeldOut {
  int64_t n = 0, covered = 0;  // by the 95 % interval of a single request
  double median_error = 0;     // of |measured / predicted − 1|
};
// Nothing without such points. REQUIRES: split.is_usable()
std::optional<HeldOut> predict_held_out(const Split& split, std::span<const Point> points);

}  // namespace pawl::lab
