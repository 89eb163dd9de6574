// SPDX-License-Identifier: Apache-2.0
#include "engine/step_pace.h"

#include <gtest/gtest.h>

namespace pawl::engine {
namespace {

constexpr int64_t kMs = 1000000;

TEST(StepPace, PromptTokensMayTakeAsLongAsADecode) {
  StepPace pace;
  EXPECT_EQ(pace.tokens_beside_decode(), StepPace::kFirst);
  for (int i = 0; i < 20; ++i) {
    pace.record(0, 200, 100 * kMs);  // half a millisecond each
    pace.record(4, 0, 10 * kMs);
    pace.record(4, 20, 20 * kMs);
  }
  EXPECT_NEAR(static_cast<double>(pace.tokens_beside_decode()), 20, 1);
}

TEST(StepPace, AnExpensivePromptStillGoesOn) {
  StepPace pace;
  for (int i = 0; i < 20; ++i) {
    pace.record(1, 0, 10 * kMs);
    pace.record(1, 8, 90 * kMs);
  }
  EXPECT_EQ(pace.tokens_beside_decode(), StepPace::kLeast);
}

TEST(StepPace, OneStepThatWasHeldUpChangesLittle) {
  StepPace pace;
  for (int i = 0; i < 20; ++i) {
    pace.record(0, 100, 50 * kMs);
    pace.record(4, 0, 16 * kMs);
  }
  EXPECT_NEAR(static_cast<double>(pace.tokens_beside_decode()), 32, 1);
  pace.record(4, 0, 2000 * kMs);
  EXPECT_LE(pace.tokens_beside_decode(), 40);
  for (int i = 0; i < 10; ++i) pace.record(4, 0, 16 * kMs);
  EXPECT_NEAR(static_cast<double>(pace.tokens_beside_decode()), 32, 1);
}

}  // namespace
}  // namespace pawl::engine
