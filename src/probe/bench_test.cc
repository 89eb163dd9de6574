// SPDX-License-Identifier: Apache-2.0
// What is counted, against sums done by hand, and what is made of it.
#include "probe/bench.h"

#include <gtest/gtest.h>

#include "probe/cost.h"

namespace pawl::probe {
namespace {

// Multiply-adds of the matrices for one token, by hand:
//   layer 0: q 8*8, k 8*4, v 8*8, output 16*8, gate, up and down 3*8*16: 672
//   layer 1: q 8*8, k 8*2, v 8*4, output 16*8, gate, up and down 3*8*16: 624
// Attention: 4 heads * (2 + 4) per pair of positions. Keys and values of one position in 2 bytes
// each: 2*6*2 = 24 bytes in layer 0, 12 in layer 1.
model::ModelConfig small_config() {
  model::ModelConfig config;
  config.width = 8;
  config.heads = 4;
  config.head_dim = 2;
  config.value_dim = 4;
  config.feed_forward = 16;
  config.vocabulary = 100;
  config.layers = {{.kv_heads = 2}, {.kv_heads = 1, .window = 3}};
  return config;
}

constexpr WeightBytes kWeights{1000, 500};
constexpr int64_t kMatrices = 672 + 624;

TEST(Cost, OfOneDecodedTokenBehindTen) {
  const Cost cost =
      pass_cost(small_config(), kWeights, kernels::KvType::kF16, {.first_position = 10});
  EXPECT_EQ(cost.bytes, 1500 + 11 * 24 + 3 * 12);
  EXPECT_EQ(cost.operations, 2 * (kMatrices + 8 * 100 + (11 + 3) * 24));
}

TEST(Cost, OfEightSequencesReadsTheWeightsOnce) {
  const Cost cost = pass_cost(small_config(), kWeights, kernels::KvType::kF16,
                              {.sequences = 8, .first_position = 10, .rows = 8});
  EXPECT_EQ(cost.bytes, 1500 + 8 * (11 * 24 + 3 * 12));
  EXPECT_EQ(cost.operations, 8 * 2 * (kMatrices + 8 * 100 + (11 + 3) * 24));
}

TEST(Cost, OfAPromptIsCausalAndWindowed) {
  // In the last layer only rows with logits go beyond keys and values: q, k and v are 112 of its
  // 624.
  const Cost first =
      pass_cost(small_config(), kWeights, kernels::KvType::kF16, {.tokens = 4, .rows = 0});
  EXPECT_EQ(first.bytes, 1000 + 4 * 24);
  EXPECT_EQ(first.operations, 2 * (4 * (672 + 112) + (1 + 2 + 3 + 4) * 24));
  const Cost later = pass_cost(small_config(), kWeights, kernels::KvType::kF32,
                               {.tokens = 4, .first_position = 10, .rows = 1});
  EXPECT_EQ(later.bytes, 1500 + 2 * (14 * 24 + 3 * 12));
  EXPECT_EQ(later.operations, 2 * (4 * (672 + 112) + 512 + 800 + ((11 + 12 + 13 + 14) + 3) * 24));
}

// The published sizes of Gemma 3 270M: 100 million parameters in the layers, 168 million in the
// embedding, which is also the output.
TEST(Cost, OfGemma3_270m) {
  model::ModelConfig config;
  config.width = 640;
  config.heads = 4;
  config.head_dim = config.value_dim = 256;
  config.feed_forward = 2048;
  config.vocabulary = 262144;
  config.layers.assign(18, {.kv_heads = 1, .window = 512});
  for (const size_t global : {5, 11, 17}) config.layers[global].window = 0;
  const Cost first = pass_cost(config, {}, kernels::KvType::kF16, {});
  EXPECT_EQ(first.operations, 2 * (100'270'080 + 640 * 262144 + 18 * 2048));
  const Cost deep = pass_cost(config, {}, kernels::KvType::kF16, {.first_position = 2047});
  EXPECT_EQ(deep.operations, 2 * (100'270'080 + 640 * 262144 + (3 * 2048 + 15 * 512) * 2048));
  EXPECT_EQ(deep.bytes, (3 * 2048 + 15 * 512) * 512 * 2);
}

TEST(Bench, SpreadIsMedianAndExtremes) {
  const Spread odd = spread_of({5, 1, 3});
  EXPECT_EQ((std::vector{odd.median, odd.min, odd.max}), (std::vector<double>{3, 1, 5}));
  const Spread even = spread_of({4, 1, 2, 10});
  EXPECT_EQ((std::vector{even.median, even.min, even.max}), (std::vector<double>{3, 1, 10}));
}

TEST(Bench, TheNearerLimitIsTheOneThatBinds) {
  const MachineLimits limits{40e9, 400e9};
  const Reached decode =
      reached({{{.bytes = 3e9, .operations = 10e9, .ns = 100'000'000, .limits = limits}}});
  EXPECT_TRUE(decode.is_bound_by_reading);
  EXPECT_DOUBLE_EQ(decode.of_limit, 0.75);
  const Reached prefill =
      reached({{{.bytes = 1e8, .operations = 10e9, .ns = 100'000'000, .limits = limits}}});
  EXPECT_FALSE(prefill.is_bound_by_reading);
  EXPECT_DOUBLE_EQ(prefill.of_limit, 0.25);
}

// A machine that becomes twice as fast in the middle: half of either limit is half.
TEST(Bench, TheLimitIsTheMeanOverTheTimeOfTheStretches) {
  const Stretch slow{.bytes = 2e9, .operations = 0, .ns = 100'000'000, .limits = {40e9, 400e9}};
  const Stretch fast{.bytes = 4e9, .operations = 0, .ns = 100'000'000, .limits = {80e9, 400e9}};
  EXPECT_DOUBLE_EQ(reached({{slow, fast}}).of_limit, 0.5);
  const Stretch longer{.bytes = 6e9, .operations = 0, .ns = 300'000'000, .limits = {40e9, 400e9}};
  EXPECT_DOUBLE_EQ(reached({{longer, fast}}).of_limit, 0.5);
}

// Limits that scatter by half do not raise the share.
TEST(Bench, AScatterOfTheLimitsCancels) {
  const Stretch low{.bytes = 3e9, .operations = 0, .ns = 100'000'000, .limits = {30e9, 400e9}};
  const Stretch high{.bytes = 3e9, .operations = 0, .ns = 100'000'000, .limits = {90e9, 400e9}};
  EXPECT_DOUBLE_EQ(reached({{low, high}}).of_limit, 0.5);
}

}  // namespace
}  // namespace pawl::probe
