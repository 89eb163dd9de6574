// SPDX-License-Identifier: Apache-2.0
#include "model/rope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pawl::model {
namespace {

TEST(Rope, PlainFrequenciesFallGeometrically) {
  const Rope rope({.rotary = 8, .base = 10000.0}, {});
  float cos[4], sin[4];
  rope.angles(3, cos, sin);
  for (int i = 0; i < 4; ++i) {
    const double angle = 3.0 / std::pow(10.0, i);  // 10000^(-2i/8)
    EXPECT_FLOAT_EQ(cos[i], static_cast<float>(std::cos(angle)));
    EXPECT_FLOAT_EQ(sin[i], static_cast<float>(std::sin(angle)));
  }
}

TEST(Rope, LinearScalingStretchesPositions) {
  const Rope plain({.rotary = 8}, {});
  const Rope stretched({.rotary = 8, .scaling = RopeScaling::kLinear, .factor = 4.0}, {});
  float a[4], b[4], s[4];
  plain.angles(5, a, s);
  stretched.angles(20, b, s);
  for (int i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(a[i], b[i]);
}

TEST(Rope, FactorsDivideFrequencies) {
  const float factors[] = {1, 2, 4, 8};
  const Rope plain({.rotary = 8}, {}), divided({.rotary = 8}, factors);
  float a[4], b[4], s[4];
  plain.angles(1, a, s);
  for (int i = 0; i < 4; ++i) {
    divided.angles(1 << i, b, s);
    EXPECT_FLOAT_EQ(a[i], b[i]);
  }
}

// Far positions keep their precision: the angle is computed in double.
TEST(Rope, NoErrorGrowsWithThePosition) {
  const Rope rope({.rotary = 2}, {});
  float cos, sin;
  rope.angles(1000003, &cos, &sin);
  EXPECT_FLOAT_EQ(cos, static_cast<float>(std::cos(1000003.0)));
}

}  // namespace
}  // namespace pawl::model
