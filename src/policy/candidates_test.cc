// SPDX-License-Identifier: Apache-2.0
// A few changes stand beside the row, many make a copy of it, and nobody can tell: each policy
// draws what it draws from a row that had the changes from the beginning.
#include "policy/candidates.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "policy/choose.h"
#include "policy/test_rows.h"

namespace pawl::policy {
namespace {

using base::TokenId;

constexpr float kOut = -std::numeric_limits<float>::infinity();

struct Case {
  const char* name;
  void (*set)(Policy&);
};
constexpr Case kCases[] = {
    {"draw", [](Policy& p) { p.temperature = 0.8; }},
    {"greedy", [](Policy& p) { p.temperature = 0; }},
    {"cuts", [](Policy& p) { p.temperature = 1.3, p.top_k = 40, p.top_p = 0.9, p.min_p = 0.01; }},
    {"mirostat", [](Policy& p) { p.mirostat = 2; }},
    {"dynamic", [](Policy& p) { p.dynatemp_range = 0.5; }},
};

// The ids of the `count` largest logits and as many others.
std::vector<TokenId> ids_of_interest(const std::vector<float>& row, size_t count) {
  std::vector<int32_t> largest;
  select_largest(row, count, largest);
  std::vector<TokenId> ids(largest.begin(), largest.end());
  for (size_t i = 0; ids.size() < 2 * count; ++i) {
    const TokenId id = static_cast<TokenId>((i * 389 + 7) % row.size());
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

class CandidatesTest : public testing::TestWithParam<Case> {
 protected:
  Policy policy() const {
    Policy policy;
    policy.temperature = 1;
    GetParam().set(policy);
    return policy;
  }

  // 997 is no multiple of a block.
  const std::vector<float> row_ = normal_row(997, 2, 5);

  Choice choose_from(const std::vector<float>& row, const Policy& policy, uint64_t position,
                     std::span<const TokenId> end_ids = {}) {
    const History history(policy);
    return choose({.row = row,
                   .policy = policy,
                   .history = history,
                   .draw = {3, position},
                   .end_ids = end_ids},
                  scratch_);
  }

  Scratch scratch_;
};

TEST_P(CandidatesTest, TokensHeldBackAreAsIfTheirLogitsWereOut) {
  for (const size_t count : {1u, 2u, 8u, 9u, 30u}) {
    const std::vector<TokenId> ids = ids_of_interest(row_, count);
    std::vector<float> without = row_;
    for (const TokenId id : ids) without[static_cast<size_t>(id)] = kOut;
    Policy asked = policy();
    for (uint64_t position = 0; position < 200; ++position) {
      const TokenId expected = choose_from(without, asked, position).id;
      asked.ignore_eos = true;
      EXPECT_EQ(choose_from(row_, asked, position, ids).id, expected) << count;
      asked.ignore_eos = false;
      asked.banned = ids;
      EXPECT_EQ(choose_from(row_, asked, position).id, expected) << count;
      asked.banned.clear();
    }
  }
}

TEST_P(CandidatesTest, ABiasIsAsIfTheLogitsHadIt) {
  for (const size_t count : {1u, 8u, 9u, 30u}) {
    const std::vector<TokenId> ids = ids_of_interest(row_, count);
    Policy asked = policy();
    std::vector<float> with = row_;
    for (size_t i = 0; i < ids.size(); ++i) {
      const double bias = i % 2 == 0 ? 3.5 : -1.25;
      asked.logit_bias.push_back({ids[i], bias});
      float& logit = with[static_cast<size_t>(ids[i])];
      logit = static_cast<float>(logit + bias);
    }
    for (uint64_t position = 0; position < 200; ++position) {
      EXPECT_EQ(choose_from(row_, asked, position).id, choose_from(with, policy(), position).id)
          << count;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, CandidatesTest, testing::ValuesIn(kCases),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(Candidates, TwoChangesOfOneLogitAddUp) {
  const std::vector<float> row = {1, 2, 3};
  Candidates candidates;
  candidates.start(row);
  candidates.change(2, 5);
  candidates.change(2, candidates.at(2) - 1);
  EXPECT_EQ(candidates.at(2), 4);
  candidates.settle();
  EXPECT_EQ(candidates.logits()[2], 4);
  EXPECT_EQ(row[2], 3);
}

TEST(Candidates, TheFirstOfEqualsIsTheLargestThoughItIsAChange) {
  const std::vector<float> row = {0, 7, 1, 7, 2};
  Candidates candidates;
  candidates.start(row);
  candidates.change(0, 7);
  EXPECT_EQ(candidates.largest().index, 0u);
  candidates.change(1, kOut);
  candidates.change(0, kOut);
  EXPECT_EQ(candidates.largest().index, 3u);
}

}  // namespace
}  // namespace pawl::policy
