// SPDX-License-Identifier: Apache-2.0
#include "engine/scheduler.h"

#include <gtest/gtest.h>

namespace pawl::engine {
namespace {

std::vector<std::pair<int, int64_t>> plan(std::vector<Candidate> candidates, Budget budget) {
  std::vector<Share> shares;
  plan_step(candidates, budget, shares);
  std::vector<std::pair<int, int64_t>> out;
  for (const Share& s : shares) out.emplace_back(s.sequence, s.tokens);
  return out;
}

using Expected = std::vector<std::pair<int, int64_t>>;

TEST(Scheduler, LongPromptDoesNotDelayDecode) {
  EXPECT_EQ(
      plan({{10000, 0, true, 0}, {7, 6, true, 0}, {9, 8, true, 0}}, {.tokens = 512, .rows = 8}),
      (Expected{{1, 1}, {2, 1}, {0, 510}}));
}

TEST(Scheduler, PromptsShareTheBudgetInOrderOfArrival) {
  EXPECT_EQ(
      plan({{300, 0, true, 0}, {300, 0, true, 0}, {300, 0, true, 0}}, {.tokens = 512, .rows = 8}),
      (Expected{{0, 300}, {1, 212}}));
}

TEST(Scheduler, AWaitingSequenceStartsOnlyWithBlocksForItsWholeLife) {
  const std::vector<Candidate> waiting{{100, 0, false, 5}, {100, 0, false, 2}};
  EXPECT_EQ(plan(waiting, {.tokens = 512, .rows = 8, .free_blocks = 4}),
            Expected{});  // and none overtakes
  EXPECT_EQ(plan(waiting, {.tokens = 512, .rows = 8, .free_blocks = 6}), (Expected{{0, 100}}));
  EXPECT_EQ(plan(waiting, {.tokens = 512, .rows = 8, .free_blocks = 7}),
            (Expected{{0, 100}, {1, 100}}));
}

TEST(Scheduler, NeverMoreRowsThanThereIsRoomFor) {
  EXPECT_EQ(plan({{5, 4, true, 0}, {5, 4, true, 0}, {5, 4, true, 0}}, {.tokens = 512, .rows = 2}),
            (Expected{{0, 1}, {1, 1}}));
}

TEST(Scheduler, ALastPromptTokenIsADecodeLikeAnyOther) {
  EXPECT_EQ(plan({{1, 0, true, 0}}, {.tokens = 512, .rows = 8}), (Expected{{0, 1}}));
}

}  // namespace
}  // namespace pawl::engine
