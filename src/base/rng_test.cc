// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

#include <gtest/gtest.h>

#include <set>

namespace pawl::base {
namespace {

using Words = std::array<uint32_t, 4>;

// The three known answers for philox4x32-10 that are published with the paper's library
// (kat_vectors).
TEST(Rng, PhiloxGivesThePublishedKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// 0xe169c58d'6627e8d5 >> 11, over 2^53, from the first known answer.
TEST(Rng, UniformIsTheTop53BitsOfTheFirstTwoWords) {
  EXPECT_EQ(uniform(0, 0, 0),
            static_cast<double>(0xe169c58d6627e8d5ull >> 11) / 9007199254740992.0);
}

TEST(Rng, EveryArgumentCountsInBothHalves) {
  std::set<double> values;
  for (const uint64_t x : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, ~uint64_t{0}}) {
    values.insert(uniform(x, 7, 9));
    values.insert(uniform(7, x, 9));
    values.insert(uniform(7, 9, x));
  }
  EXPECT_EQ(values.size(), 12u);
}

TEST(Rng, StaysBelowOneAndAveragesOneHalf) {
  double sum = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double u = uniform(42, static_cast<uint64_t>(i), 0);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 5 * 0.2887 / 316.2);  // five standard errors
}

}  // namespace
}  // namespace pawl::base
