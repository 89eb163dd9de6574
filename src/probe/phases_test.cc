// SPDX-License-Identifier: Apache-2.0
// The judgement of phases, on machines made of two numbers: what a pass takes is the larger of its
// bytes and its operations over the machine's limits. Every verdict comes out both ways.
#include <gtest/gtest.h>

#include <algorithm>

#include "probe/phases_analysis.h"

namespace pawl::probe {
namespace {

constexpr double kWeights = 1e6;  // parameters, of one byte
constexpr double kKv = 100;       // bytes of one position

struct Machine {
  double bytes_per_s, operations_per_s;
  double share = 0.8;  // of the limits, that passes reach
};

double pass_seconds(const Machine& machine, double tokens, double context) {
  const double bytes = kWeights + context * kKv;
  return std::max(bytes / machine.bytes_per_s, 2 * kWeights * tokens / machine.operations_per_s) /
         machine.share;
}

PhasesLength length_on(const Machine& machine, int64_t prompt, int rounds, double noise) {
  const auto tokens = static_cast<double>(prompt);
  const auto bytes = static_cast<int64_t>(kWeights + tokens * kKv);
  PhasesLength length;
  length.prompt = length.pass_tokens = prompt;
  length.prefill = {bytes, static_cast<int64_t>(2 * kWeights * tokens)};
  length.decode = {bytes, static_cast<int64_t>(2 * kWeights)};
  length.uncached = length.prefill;
  for (int round = 0; round < rounds; ++round) {
    const double slow = 1 + noise * (round % 3 - 1);  // the whole machine, for a round
    const auto seconds = [&](double n) { return pass_seconds(machine, n, tokens) * slow; };
    length.rounds.push_back(
        {.limits = {machine.bytes_per_s / slow, machine.operations_per_s / slow},
         .prefill_s = seconds(tokens),
         .pass_s = seconds(tokens),
         .half_pass_s = seconds(tokens / 2),
         .decode_s = seconds(1),
         .double_decode_s = seconds(2),
         .uncached_s = seconds(tokens + 1)});
  }
  return length;
}

PhasesAnalysis analysis_of(const Machine& machine, const std::vector<int64_t>& prompts,
                           int rounds = 5, double noise = 0) {
  PhasesSamples samples;
  for (const int64_t prompt : prompts) {
    samples.lengths.push_back(length_on(machine, prompt, rounds, noise));
  }
  return analyse(samples, 1);
}

const PhasesVerdict& verdict(const PhasesAnalysis& analysis, std::string_view name) {
  for (const PhasesVerdict& one : analysis.verdicts) {
    if (one.name == name) return one;
  }
  ADD_FAILURE() << name;
  return analysis.verdicts.front();
}

// 20 operations per byte; a pass of n tokens does 2n, so the ridge is at 10 tokens.
constexpr Machine kUsual{.bytes_per_s = 1e10, .operations_per_s = 2e11};

TEST(Phases, ClaimHoldsWherePrefillComputesAndDecodeReads) {
  const PhasesAnalysis analysis = analysis_of(kUsual, {4, 16, 64, 256});
  for (const PhasesVerdict& one : analysis.verdicts) EXPECT_TRUE(*one.holds) << one.reason;
  EXPECT_TRUE(analysis.holds());
  const PhasesRow& longest = analysis.rows.back();
  EXPECT_NEAR(longest.prefill.of_int8.value, 0.8, 1e-9);
  EXPECT_NEAR(longest.decode.of_read.value, 0.8, 1e-9);
  EXPECT_NEAR(longest.prefill.doubling.value, 1, 1e-9);
  EXPECT_NEAR(longest.decode.doubling.value, 0, 1e-9);
  EXPECT_EQ(longest.prefill.bound, Bound::kCompute);
  EXPECT_EQ(longest.decode.bound, Bound::kBandwidth);
}

TEST(Phases, ShortPromptIsBoundByBandwidthAndTheCrossingIsFound) {
  const PhasesAnalysis analysis = analysis_of(kUsual, {4, 8, 64, 256});
  EXPECT_EQ(analysis.rows[0].prefill.bound, Bound::kBandwidth);
  EXPECT_FALSE(analysis.rows[0].holds());
  EXPECT_EQ(analysis.measured_crossing, 64);
  const PhasesAnalysis short_only = analysis_of(kUsual, {4, 8});
  EXPECT_FALSE(*verdict(short_only, "prefill").holds);
  EXPECT_FALSE(short_only.holds());
  EXPECT_EQ(short_only.measured_crossing, std::nullopt);
}

TEST(Phases, ExchangeRateIsTheRatioOfTimes) {
  const PhasesAnalysis analysis = analysis_of(kUsual, {16, 256});
  const double decode = (kWeights + 256 * kKv) / 1e10, prefill = 2 * kWeights / 2e11;
  EXPECT_NEAR(analysis.rows[1].exchange.value, decode / prefill, 1e-9);
}

TEST(Phases, DecodeThatComputesIsNoDecodeBoundByBandwidth) {
  // So little arithmetic that one token's takes longer than reading all weights.
  const PhasesAnalysis analysis =
      analysis_of({.bytes_per_s = 1e10, .operations_per_s = 1e10}, {16, 256});
  EXPECT_EQ(analysis.rows[1].decode.bound, Bound::kCompute);
  EXPECT_FALSE(*verdict(analysis, "decode").holds);
  EXPECT_FALSE(*verdict(analysis, "parallel").holds);
  EXPECT_TRUE(*verdict(analysis, "prefill").holds);
}

TEST(Phases, FarFromBothLimitsNothingBinds) {
  const PhasesAnalysis analysis =
      analysis_of({.bytes_per_s = 1e10, .operations_per_s = 2e11, .share = 0.1}, {16, 256});
  EXPECT_EQ(analysis.rows[1].prefill.bound, Bound::kNeither);
  EXPECT_FALSE(analysis.holds());
  EXPECT_NE(verdict(analysis, "prefill").reason.find("neither limit is near"), std::string::npos);
}

TEST(Phases, BesideOthersHowNearALimitIsStaysOpen) {
  PhasesSamples samples;
  const Machine far{.bytes_per_s = 1e10, .operations_per_s = 2e11, .share = 0.1};
  samples.lengths = {length_on(far, 16, 3, 0), length_on(far, 256, 3, 0)};
  for (PhasesLength& length : samples.lengths) {
    for (PhasesRound& round : length.rounds) round.cores = 0.3;
  }
  const PhasesAnalysis analysis = analyse(samples, 1);
  EXPECT_EQ(verdict(analysis, "prefill").holds, std::nullopt);
  EXPECT_NE(verdict(analysis, "prefill").reason.find("70 % of the cores"), std::string::npos);
}

// Near by its share, and yet not what counts: the time of a pass does not grow with its tokens.
TEST(Phases, TheTimeOfTwiceTheTokensIsAskedToo) {
  PhasesSamples samples;
  samples.lengths = {length_on(kUsual, 16, 3, 0), length_on(kUsual, 256, 3, 0)};
  for (PhasesRound& round : samples.lengths[1].rounds) round.half_pass_s = round.pass_s;
  const PhasesAnalysis analysis = analyse(samples, 1);
  EXPECT_EQ(analysis.rows[1].prefill.by_roofline, Bound::kCompute);
  EXPECT_EQ(analysis.rows[1].prefill.by_time, Bound::kBandwidth);
  EXPECT_EQ(analysis.rows[1].prefill.bound, Bound::kNeither);
  EXPECT_NE(verdict(analysis, "prefill").reason.find("disagree"), std::string::npos);
}

TEST(Phases, CostWithKeysAndValuesIsFlatAndWithoutThemALine) {
  const PhasesAnalysis analysis = analysis_of(kUsual, {16, 64, 256, 1024});
  EXPECT_EQ(analysis.cached->shape, CostLine::Shape::kFlat);
  EXPECT_EQ(analysis.uncached->shape, CostLine::Shape::kLinear);
  EXPECT_NEAR(analysis.uncached->us_per_position.value, 2 * kWeights / 2e11 / 0.8 * 1e6, 0.2);
  EXPECT_TRUE(*verdict(analysis, "cache").holds);
}

TEST(Phases, CostThatGrowsAlikeIsNoCache) {
  PhasesSamples samples;
  for (const int64_t prompt : {16, 64, 256}) {
    samples.lengths.push_back(length_on(kUsual, prompt, 5, 0));
    for (PhasesRound& round : samples.lengths.back().rounds) round.decode_s = round.uncached_s;
  }
  const PhasesAnalysis analysis = analyse(samples, 1);
  EXPECT_EQ(analysis.cached->shape, CostLine::Shape::kLinear);
  EXPECT_FALSE(*verdict(analysis, "cache").holds);
}

// The machine was half as fast in two rounds of five, while the long ones ran.
TEST(Phases, GrowthThatMayBeFlatOrNotStaysOpen) {
  PhasesSamples samples;
  for (const int64_t prompt : {16, 256}) samples.lengths.push_back(length_on(kUsual, prompt, 5, 0));
  for (const size_t round : {0, 1}) samples.lengths[1].rounds[round].decode_s *= 2;
  const PhasesAnalysis analysis = analyse(samples, 1);
  ASSERT_LE(analysis.cached->growth.low(), kFlatGrowth);
  ASSERT_GT(analysis.cached->growth.high(), kFlatGrowth);
  EXPECT_EQ(verdict(analysis, "cache").holds, std::nullopt);
  EXPECT_TRUE(analysis.holds());
}

TEST(Phases, OneLengthSaysNothingAboutGrowth) {
  const PhasesAnalysis analysis = analysis_of(kUsual, {256});
  EXPECT_EQ(verdict(analysis, "cache").holds, std::nullopt);
  EXPECT_TRUE(analysis.holds());
}

// Limits and passes of one round are slow together: shares and rates stand, and their intervals
// have no width, while the times' have.
TEST(Phases, WhatSlowsAWholeRoundMovesNoRatio) {
  const PhasesAnalysis analysis = analysis_of(kUsual, {16, 256}, 6, 0.2);
  const PhasesRow& row = analysis.rows[1];
  EXPECT_NEAR(row.exchange.low(), row.exchange.high(), 1e-9);
  EXPECT_NEAR(row.prefill.of_int8.low(), 0.8, 1e-9);
  EXPECT_LT(row.prefill_ms.low(), row.prefill_ms.high());
}

TEST(Phases, OneRoundHasNoInterval) {
  const PhasesAnalysis analysis = analysis_of(kUsual, {16, 256}, 1);
  EXPECT_FALSE(analysis.rows[0].exchange.interval.has_value());
}

}  // namespace
}  // namespace pawl::probe
