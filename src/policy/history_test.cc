// SPDX-License-Identifier: Apache-2.0
#include "policy/history.h"

#include <gtest/gtest.h>

#include <map>

#include "base/rng.h"

namespace pawl::policy {
namespace {

using base::TokenId;

std::map<TokenId, int32_t> recount(const std::vector<TokenId>& ids, int32_t window) {
  const size_t skip =
      window < 0 || static_cast<size_t>(window) >= ids.size() ? 0 : ids.size() - window;
  std::map<TokenId, int32_t> counts;
  for (size_t i = skip; i < ids.size(); ++i) ++counts[ids[i]];
  return counts;
}

std::map<TokenId, int32_t> counts_of(const History& history) {
  std::map<TokenId, int32_t> counts;
  TokenId previous = -1;
  for (const History::Count& entry : history.counts()) {
    EXPECT_GT(entry.id, previous);
    previous = entry.id;
    counts[entry.id] = entry.count;
  }
  return counts;
}

TEST(History, CountsEqualARecountAfterEveryToken) {
  for (const int32_t window : {1, 2, 7, 64, -1}) {
    for (const size_t prompt_size : {size_t{0}, size_t{5}, size_t{100}}) {
      Policy policy;
      policy.presence_penalty = 1;
      policy.repeat_last_n = window;
      std::vector<TokenId> ids;
      for (size_t i = 0; i < prompt_size; ++i)
        ids.push_back(static_cast<TokenId>(base::uniform(1, i, 0) * 12));
      History history(policy, ids, 8);
      ASSERT_EQ(counts_of(history), recount(ids, window));
      for (uint64_t i = 0; i < 200; ++i) {
        ids.push_back(static_cast<TokenId>(base::uniform(2, i, 0) * 12));
        history.push(ids.back());
        ASSERT_EQ(counts_of(history), recount(ids, window))
            << "window " << window << ", token " << i;
      }
    }
  }
}

TEST(History, KeepsNothingForAPolicyThatDoesNotLookBack) {
  History history(Policy{}, std::vector<TokenId>{1, 2, 3});
  history.push(4);
  EXPECT_TRUE(history.counts().empty());
  EXPECT_TRUE(history.dry_window().empty());
  EXPECT_EQ(history.generated(), 1);
}

TEST(History, S018_GeneratedDoesNotCountThePrompt) {
  Policy policy;
  policy.min_tokens = 3;
  History history(policy, std::vector<TokenId>(1000, 7));
  EXPECT_EQ(history.generated(), 0);
  history.push(7);
  EXPECT_EQ(history.generated(), 1);
}

TEST(History, DryWindowIsTheLastTokens) {
  Policy policy;
  policy.dry_multiplier = 1;
  policy.dry_penalty_last_n = 3;
  History history(policy, std::vector<TokenId>{1, 2});
  EXPECT_EQ(history.dry_window().size(), 2u);
  history.push(3);
  history.push(4);
  const auto window = history.dry_window();
  EXPECT_EQ(std::vector<TokenId>(window.begin(), window.end()), (std::vector<TokenId>{2, 3, 4}));
  EXPECT_TRUE(history.counts().empty());
}

TEST(History, MirostatStartsAtTwiceTauAndFollowsTheChoices) {
  Policy policy;
  policy.mirostat = 2;
  policy.mirostat_tau = 3;
  History history(policy);
  EXPECT_EQ(history.mirostat_mu(), 6);
  Choice choice;
  choice.id = 1;
  choice.mirostat_mu = 5.5;
  history.accept(choice);
  EXPECT_EQ(history.mirostat_mu(), 5.5);
  history.push(2);  // a token that was not drawn says nothing about surprise
  EXPECT_EQ(history.mirostat_mu(), 5.5);
}

}  // namespace
}  // namespace pawl::policy
