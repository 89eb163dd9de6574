// SPDX-License-Identifier: Apache-2.0
#include "lab/split.h"

#include <gtest/gtest.h>

#include "lab/additivity.h"
#include "lab/simulated_sweep.h"

namespace pawl::lab {
namespace {

using testing::simulated_sweep;
using testing::Truth;

constexpr double kPrompt[] = {128, 1024, 2048, 3072, 4096, 8192, 16384, 32000};
constexpr double kFirst[] = {361.49, 723.51, 1177.37, 2108.25, 2108.19, 4141.66, 8655.87, 19826.68};
constexpr double kPerToken[] = {18.39, 22.05, 22.41, 23.50, 23.95, 27.43, 34.28, 48.07};

std::vector<Sample> published() {
  std::vector<Sample> samples;
  for (int i = 0; i < 8; ++i) samples.push_back({kPrompt[i], kFirst[i]});
  return samples;
}

bool holds(const Estimate& estimate, double truth) {
  return estimate.interval.low <= truth && truth <= estimate.interval.high;
}

TEST(Symptoms, ThePublishedTableHasANegativeStartUpWithPlainWeights) {
  auto fit = fit_curve(published(), {0, 1}, Weights::kEqual);
  ASSERT_TRUE(fit.ok());
  const auto signs = signs_in(*fit, "time to first token");
  ASSERT_EQ(signs.size(), 1u);
  EXPECT_EQ(signs[0].kind, SymptomKind::kNegativeStartUp);
  EXPECT_TRUE(signs[0].refuses);
  EXPECT_NE(signs[0].text.find("-161"), std::string::npos) << signs[0].text;
}

TEST(Symptoms, ThePublishedTableIsPaddedFrom3072To4096AndNowhereElse) {
  auto fit = fit_curve(published(), {0, 1, 2}, Weights::kRelative);
  ASSERT_TRUE(fit.ok());
  EXPECT_TRUE(signs_in(*fit, "time to first token").empty());
  const auto steps = steps_in(*fit, "time to first token");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_NE(steps[0].text.find("3072 and 4096"), std::string::npos) << steps[0].text;
}

TEST(Symptoms, ThePublishedExchangeRateIsNoConstant) {
  // Measured time per output token over 0.471 ms for a prompt token.
  EXPECT_NEAR(kPerToken[0] / 0.471, 39, 0.5);
  EXPECT_NEAR(kPerToken[4] / 0.471, 51, 0.5);
  EXPECT_NEAR(kPerToken[7] / 0.471, 102, 0.5);
  // The same from points of the table's kind, through the fits.
  std::vector<Point> points;
  for (int i = 0; i < 8; ++i) {
    Point point;
    point.arm = kPromptArm;
    point.prompt = static_cast<int64_t>(kPrompt[i]);
    point.output = 100;
    point.ttft_ms = kFirst[i];
    point.tpot_ms = kPerToken[i];
    points.push_back(point);
  }
  const Split split = Split::of(points, 1);
  ASSERT_TRUE(split.is_usable());
  EXPECT_LT(split.exchange_rate(128, 128).value, 50);
  EXPECT_GT(split.exchange_rate(128, 32000).value, 90);
}

TEST(Symptoms, RepetitionsOfAnHonestServerShowNoStep) {
  int alarms = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Split split = Split::of(points_of(simulated_sweep({}, seed)), 1);
    for (const Symptom& symptom : split.symptoms()) alarms += symptom.kind == SymptomKind::kStep;
  }
  EXPECT_LE(alarms, 2);
}

TEST(Symptoms, AFlatArmIsRefusedAndNamed) {
  Truth truth;
  truth.per_prompt = 0;
  const Split split = Split::of(points_of(simulated_sweep(truth, 3)), 1);
  EXPECT_FALSE(split.is_usable());
  ASSERT_FALSE(split.symptoms().empty());
  EXPECT_EQ(split.symptoms().back().kind, SymptomKind::kFlatArm);
}

TEST(Symptoms, AStartUpBelowZeroIsRefusedAndOneWithinTheNoiseIsLeftOut) {
  Truth truth;
  truth.start = -8;
  const Split refused = Split::of(points_of(simulated_sweep(truth, 4)), 1);
  EXPECT_FALSE(refused.is_usable());
  ASSERT_FALSE(refused.symptoms().empty());
  EXPECT_EQ(refused.symptoms().back().kind, SymptomKind::kNegativeStartUp);
  truth.start = 0;
  int usable = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Split split = Split::of(points_of(simulated_sweep(truth, seed)), 1);
    usable += split.is_usable();
    if (split.is_usable()) {
      EXPECT_GE(split.start_up_coefficient(0).value, 0);
    }
  }
  EXPECT_GE(usable, 18);  // of 20: one in forty looks negative by chance
}

TEST(Split, FindsTheCoefficientsOfAKnownServer) {
  int start = 0, slope = 0, token = 0, rate = 0, mean = 0;
  constexpr int kRuns = 200;
  const Truth truth;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    const Split split = Split::of(points_of(simulated_sweep(truth, seed + 1000)), seed);
    ASSERT_TRUE(split.is_usable());
    start += holds(split.first_token_ms(0), truth.start);
    slope += holds(split.prompt_token_ms(700), truth.per_prompt);
    token += holds(split.output_token_ms(700), truth.per_output + 700 * truth.per_context);
    rate += holds(split.exchange_rate(700, 700), (12 + 1.4) / 0.4);
    mean += holds(split.mean_request_ms(512, 64), 20 + 0.4 * 512 + 63 * (12 + 0.002 * 544));
  }
  for (const int covered : {start, slope, token, rate, mean}) EXPECT_GE(covered, kRuns * 9 / 10);
}

TEST(Split, KeepsTheQuadraticTermWhereItIsThere) {
  Truth truth;
  EXPECT_EQ(Split::of(points_of(simulated_sweep(truth, 1)), 1).start_up()->powers.size(), 2u);
  truth.bend = 2e-4;
  const Split split = Split::of(points_of(simulated_sweep(truth, 1)), 1);
  ASSERT_EQ(split.start_up()->powers.size(), 3u);
  EXPECT_TRUE(holds(split.prompt_token_ms(1000), 0.4 + 2 * 2e-4 * 1000));
}

TEST(Split, SingleHeldOutRequestsAreCoveredAsOftenAsPromised) {
  int64_t n = 0, covered = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto points = points_of(simulated_sweep({}, seed + 7));
    const Split split = Split::of(points, seed);
    const auto held = predict_held_out(split, points);
    ASSERT_TRUE(held);
    n += held->n;
    covered += held->covered;
    EXPECT_LT(held->median_error, 0.08);
  }
  EXPECT_GE(covered, n * 90 / 100);
  EXPECT_LE(covered, n * 99 / 100);
}

TEST(Additivity, S173_TwoPhasesMeasuredApartAddUpUnlessTheyInteract) {
  int honest = 0, found = 0;
  constexpr int kRuns = 100;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    Truth truth;
    const auto fails = [&] {
      const auto points = points_of(simulated_sweep(truth, seed + 50));
      const Split split = Split::of(points, seed);
      EXPECT_TRUE(split.is_usable());
      for (const Additivity& row : test_additivity(split, points, seed)) {
        if (row.fails) return true;
      }
      return false;
    };
    honest += fails();
    truth.per_context = 0;  // c1 of the fits cannot take up …
    truth.interaction = 0;
    auto records = simulated_sweep(truth, seed + 50);
    for (RequestRecord& record : records) {  // … what only joint requests have: 10 % more
      if (record.asked.arm != kJointArm) continue;
      for (RawEvent& event : record.events) {
        event.stamp_ns = *record.sent_ns + (event.stamp_ns - *record.sent_ns) * 11 / 10;
      }
    }
    const auto points = points_of(records);
    const Split split = Split::of(points, seed);
    bool is_found = false;
    for (const Additivity& row : test_additivity(split, points, seed)) is_found |= row.fails;
    found += is_found;
  }
  EXPECT_LE(honest, kRuns / 50);
  EXPECT_GE(found, kRuns * 95 / 100);
}

}  // namespace
}  // namespace pawl::lab
