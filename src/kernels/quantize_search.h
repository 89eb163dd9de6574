// SPDX-License-Identifier: Apache-2.0
// The scales that fit a few weights best, of quantize.cc's types that search for them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace pawl::kernels {

// Below this a group of weights with signed codes counts as zeros.
constexpr float kNothing = 1e-15f;

// To nearest, ties to even, by the rounding of a sum: defined for every float, exact below 2^22.
inline int nearest(float value) {
  constexpr float kWhole = 12582912.0f;  // 1.5 * 2^23: the low bits of a sum with it count in ones
  const auto bits = std::bit_cast<uint32_t>(value + kWhole);
  return static_cast<int>(bits & 0x7fffff) - 0x400000;
}

// The element of largest magnitude, with its sign; of several the first.
inline float extreme(const float* x, int n) {
  float magnitude = 0, value = 0;
  for (int i = 0; i < n; ++i) {
    if (std::fabs(x[i]) > magnitude) {
      magnitude = std::fabs(x[i]);
      value = x[i];
    }
  }
  return value;
}

struct ScaleAndMinimum {
  float scale, minimum;
};

// How finely a scale is searched: codes are formed with (most + first + step * i) / range.
struct Search {
  int most;
  float first, step;
  int steps;
};

// x ≈ scale * code - minimum for 32 weights: weighted least squares over several first guesses of
// the codes, which are written to codes[32]. weight[32] are not below 0; the minimum is 0 or above.
ScaleAndMinimum search_line(const float* x, const float* weight, const Search& search,
                            uint8_t* codes);

// x ≈ scale * (code - 32) for 16 weights, codes 0 … 63: least squares weighted by x², over several
// first guesses of the codes, which are written to codes[16].
float search_scale(const float* x, uint8_t* codes);

}  // namespace pawl::kernels
