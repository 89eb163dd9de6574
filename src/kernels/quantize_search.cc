// SPDX-License-Identifier: Apache-2.0
#include "kernels/quantize_search.h"

#include <algorithm>

namespace pawl::kernels {
namespace {

struct WeightedGroup {
  const float *x, *weight;  // [32]
  float sum_w, sum_x;       // of the weights, and of weight * x
};

float squared_error(const WeightedGroup& g, const uint8_t* codes, float scale, float least) {
  float error = 0;
  for (int i = 0; i < 32; ++i) {
    const float off = scale * static_cast<float>(codes[i]) + least - g.x[i];
    error += g.weight[i] * (off * off);
  }
  return error;
}

// For given codes the scale and offset of least squares; an offset above 0 is held at 0. False
// where the codes are all the same.
bool fit_line(const WeightedGroup& g, const uint8_t* codes, float& scale, float& least) {
  float sum_l = 0, sum_l2 = 0, sum_xl = 0;
  for (int i = 0; i < 32; ++i) {
    const float l = static_cast<float>(codes[i]), wl = g.weight[i] * l;
    sum_l += wl;
    sum_l2 += wl * l;
    sum_xl += wl * g.x[i];
  }
  const float determinant = g.sum_w * sum_l2 - sum_l * sum_l;
  if (!(determinant > 0)) return false;
  scale = (g.sum_w * sum_xl - g.sum_x * sum_l) / determinant;
  least = (sum_l2 * g.sum_x - sum_l * sum_xl) / determinant;
  if (least > 0) {
    least = 0;
    scale = sum_xl / sum_l2;
  }
  return true;
}

}  // namespace

ScaleAndMinimum search_line(const float* x, const float* weight, const Search& search,
                            uint8_t* codes) {
  WeightedGroup g{x, weight, weight[0], weight[0] * x[0]};
  float least = x[0], most = x[0];
  for (int i = 1; i < 32; ++i) {
    least = std::min(least, x[i]);
    most = std::max(most, x[i]);
    g.sum_w += weight[i];
    g.sum_x += weight[i] * x[i];
  }
  least = std::min(least, 0.0f);
  if (most == least) {
    std::fill_n(codes, 32, uint8_t{0});
    return {0.0f, -least};
  }
  // The guesses measure from the offset that is the best so far.
  const auto form_codes = [&](float codes_of_range, uint8_t* to) {
    const float inverse = codes_of_range / (most - least);
    for (int i = 0; i < 32; ++i)
      to[i] = static_cast<uint8_t>(std::clamp(nearest(inverse * (x[i] - least)), 0, search.most));
    return inverse;
  };
  const auto top = static_cast<float>(search.most);
  float scale = 1.0f / form_codes(top, codes);
  float best = squared_error(g, codes, scale, least);
  for (int i = 0; i <= search.steps; ++i) {
    uint8_t tried[32];
    float tried_scale = 0, tried_least = 0;
    form_codes(search.first + search.step * static_cast<float>(i) + top, tried);
    if (!fit_line(g, tried, tried_scale, tried_least)) continue;
    const float error = squared_error(g, tried, tried_scale, tried_least);
    if (error < best) {
      std::copy_n(tried, 32, codes);
      best = error;
      scale = tried_scale;
      least = tried_least;
    }
  }
  return {scale, -least};
}

float search_scale(const float* x, uint8_t* codes) {
  constexpr int kHalf = 32, kCount = 16;
  const float most = extreme(x, kCount);
  if (std::fabs(most) < kNothing) {
    std::fill_n(codes, kCount, uint8_t{0});
    return 0;
  }
  float scale = 0, best = 0;
  const auto try_scale = [&](float inverse, bool is_first) {
    uint8_t tried[kCount];
    float sum_xl = 0, sum_l2 = 0;
    for (int i = 0; i < kCount; ++i) {
      const int l = std::clamp(nearest(inverse * x[i]), -kHalf, kHalf - 1);
      tried[i] = static_cast<uint8_t>(l + kHalf);
      const float weight = x[i] * x[i];
      sum_xl += weight * x[i] * static_cast<float>(l);
      sum_l2 += weight * static_cast<float>(l) * static_cast<float>(l);
    }
    if (!is_first && !(sum_l2 > 0 && sum_xl * sum_xl > best * sum_l2)) return;
    std::copy_n(tried, kCount, codes);
    scale = sum_l2 != 0 ? sum_xl / sum_l2 : 0.0f;
    best = scale * sum_xl;
  };
  try_scale(-static_cast<float>(kHalf) / most, true);
  for (int i = -9; i <= 9; ++i) {
    if (i != 0)
      try_scale(-(static_cast<float>(kHalf) + 0.1f * static_cast<float>(i)) / most, false);
  }
  return scale;
}

}  // namespace pawl::kernels
