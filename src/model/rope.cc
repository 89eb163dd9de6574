// SPDX-License-Identifier: Apache-2.0
#include "model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace pawl::model {
namespace {

// YaRN (arXiv 2309.00071 §3.2): fast dimensions keep their frequency, slow ones are interpolated,
// those between the two bounds are blended. The bounds are the dimensions that turn 32 times and
// once in the original context.
constexpr double kFastTurns = 32.0;
constexpr double kSlowTurns = 1.0;

double dimension_of_turns(double turns, const RopeConfig& config) {
  return config.rotary * std::log(config.original_context / (turns * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(config.base));
}

}  // namespace

Rope::Rope(const RopeConfig& config, std::span<const float> factors) {
  const int pairs = config.rotary / 2;
  PAWL_CHECK(factors.empty() || static_cast<int>(factors.size()) == pairs);
  double low = 0, high = 0;
  magnitude_ = config.attention_factor;
  if (config.scaling == RopeScaling::kYarn) {
    low = std::max(0.0, std::floor(dimension_of_turns(kFastTurns, config)));
    high = std::min(config.rotary - 1.0, std::ceil(dimension_of_turns(kSlowTurns, config)));
    magnitude_ *= 1.0 + 0.1 * std::log(config.factor);
  }
  for (int i = 0; i < pairs; ++i) {
    double frequency = std::pow(config.base, -2.0 * i / config.rotary);
    if (!factors.empty()) frequency /= static_cast<double>(factors[static_cast<size_t>(i)]);
    if (config.scaling == RopeScaling::kLinear) frequency /= config.factor;
    if (config.scaling == RopeScaling::kYarn) {
      const double ramp = std::clamp((i - low) / std::max(0.001, high - low), 0.0, 1.0);
      frequency = frequency / config.factor * ramp + frequency * (1.0 - ramp);
    }
    frequencies_.push_back(frequency);
  }
}

void Rope::angles(int64_t position, float* cos, float* sin) const {
  for (size_t i = 0; i < frequencies_.size(); ++i) {
    const double angle = static_cast<double>(position) * frequencies_[i];
    cos[i] = static_cast<float>(std::cos(angle) * magnitude_);
    sin[i] = static_cast<float>(std::sin(angle) * magnitude_);
  }
}

}  // namespace pawl::model
