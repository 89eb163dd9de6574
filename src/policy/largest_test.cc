// SPDX-License-Identifier: Apache-2.0
// Where takes_largest says so, choose gives the largest logit that is not excluded; and it says so
// for plain greedy policies only.
#include "policy/largest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "policy/choose.h"
#include "policy/test_rows.h"

namespace pawl::policy {
namespace {

using base::TokenId;

Policy greedy() {
  Policy policy;
  policy.temperature = 0;
  return policy;
}

TokenId largest_of(const std::vector<float>& row, const std::vector<TokenId>& excluded) {
  TokenId best = kNoToken;
  float value = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < row.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (row[i] > value && std::ranges::find(excluded, id) == excluded.end()) {
      best = id, value = row[i];
    }
  }
  return best;
}

TEST(TakesLargest, WhatChooseGivesIsTheLargestThatIsNotExcluded) {
  const std::vector<float> row = normal_row(1000, 2, 5);
  const std::vector<TokenId> ends = {largest_of(row, {}), 17};
  std::vector<Policy> policies(4, greedy());
  policies[1].ignore_eos = true;
  policies[2].banned = {largest_of(row, {}), 3, 3};
  policies[2].top_k = 5, policies[2].top_p = 0.5, policies[2].min_p = 0.1;  // no cut acts
  policies[3].min_tokens = 1;
  policies[3].banned = {largest_of(row, ends)};
  for (const Policy& policy : policies) {
    const History history(policy);
    const Situation situation{
        .row = row, .policy = policy, .history = history, .draw = {}, .end_ids = ends};
    std::vector<TokenId> excluded = {1, 2};
    ASSERT_TRUE(takes_largest(situation, excluded));
    Scratch scratch;
    const Choice choice = choose(situation, scratch);
    EXPECT_EQ(choice.id, largest_of(row, excluded));
    EXPECT_EQ(choice.mirostat_mu, largest_choice(situation, choice.id).mirostat_mu);
  }
}

TEST(TakesLargest, NotWhereMoreOfTheRowMatters) {
  const std::vector<float> row = normal_row(100, 2, 5);
  std::vector<Policy> policies(9, greedy());
  policies[0].temperature = 0.5;
  policies[1].logprobs = true;
  policies[2].top_logprobs = 1;
  policies[3].logit_bias = {{3, 1.0}};
  policies[4].allowed = {1, 2};
  policies[5].repetition_penalty = 1.1;
  policies[6].frequency_penalty = 0.5;
  policies[7].dry_multiplier = 0.8;
  policies[8].presence_penalty = 0.5;
  std::vector<TokenId> excluded;
  for (const Policy& policy : policies) {
    const History history(policy);
    const Situation situation{.row = row, .policy = policy, .history = history, .draw = {}};
    EXPECT_FALSE(takes_largest(situation, excluded));
  }
  const Policy policy = greedy();
  const History history(policy);
  TokenMask mask(100);
  const Situation situation{
      .row = row, .policy = policy, .history = history, .draw = {}, .mask = &mask};
  EXPECT_FALSE(takes_largest(situation, excluded));
}

}  // namespace
}  // namespace pawl::policy
