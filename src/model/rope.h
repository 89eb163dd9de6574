// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding: which angle a pair of dimensions turns by at a position. The rotation
// itself is kernels::Table::rope.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pawl::model {

enum class RopeScaling { kNone, kLinear, kYarn };

struct RopeConfig {
  int rotary = 0;  // dimensions that turn, even
  double base = 10000.0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  double original_context = 0;    // positions before scaling; 0: not said
  double attention_factor = 1.0;  // of cos and sin; YaRN: on top of 1 + 0.1 ln(factor)

  bool operator==(const RopeConfig&) const = default;
};

class Rope {
 public:
  // factors: divisors of the frequencies, [rotary / 2], or empty.
  Rope(const RopeConfig& config, std::span<const float> factors);

  int64_t pairs() const { return static_cast<int64_t>(frequencies_.size()); }
  // cos, sin: [pairs]. Computed in double from the position, so that no error grows with it.
  void angles(int64_t position, float* cos, float* sin) const;

 private:
  std::vector<double> frequencies_;  // radians per position
  double magnitude_ = 1.0;
};

}  // namespace pawl::model
