// SPDX-License-Identifier: Apache-2.0
#include "engine/scheduler.h"

#include <gtest/gtest.h>

namespace pawl::engine {
namespace {

using Shares = std::vector<std::pair<int, int64_t>>;
using Indices = std::vector<int>;

struct Planned {
  Shares shares;
  Indices preempted;
};

Planned plan(std::vector<Candidate> candidates, Budget budget) {
  Plan plan;
  plan_step(candidates, budget, plan);
  Planned out;
  for (const Share& s : plan.shares) out.shares.emplace_back(s.sequence, s.tokens);
  out.preempted = plan.preempted;
  return out;
}

// Blocks hold 32 positions.
Candidate decoding(int64_t length, int64_t own_blocks = 0) {
  return {.length = length,
          .computed = length - 1,
          .is_running = true,
          .blocks = (length - 1 + 31) / 32,
          .own_blocks = own_blocks};
}
Candidate prompt(int64_t length, int64_t computed = 0) {
  return {.length = length, .computed = computed, .is_running = true, .blocks = (length + 31) / 32};
}
Candidate waiting(int64_t length) {
  return {.length = length};
}

TEST(Scheduler, LongPromptDoesNotDelayDecode) {
  EXPECT_EQ(
      plan({prompt(10000), decoding(7), decoding(9)}, {.tokens = 512, .tokens_beside_decode = 512})
          .shares,
      (Shares{{1, 1}, {2, 1}, {0, 510}}));
}

TEST(Scheduler, BesideADecodePromptsGetTheSmallerBudget) {
  const Budget budget{.tokens = 512, .tokens_beside_decode = 32};
  EXPECT_EQ(plan({prompt(10000), decoding(7)}, budget).shares, (Shares{{1, 1}, {0, 32}}));
  EXPECT_EQ(plan({prompt(10000)}, budget).shares, (Shares{{0, 512}}));
}

TEST(Scheduler, WhereMorePromptsWaitThanDecodeTheyGetUpToTwiceAsMuch) {
  const Budget budget{.tokens = 512, .tokens_beside_decode = 32};
  EXPECT_EQ(plan({prompt(90), decoding(7), prompt(90), prompt(90), prompt(90)}, budget).shares,
            (Shares{{1, 1}, {0, 16}, {2, 16}, {3, 16}, {4, 16}}));
  EXPECT_EQ(plan({prompt(90), decoding(7), decoding(7), prompt(90), prompt(90)}, budget).shares,
            (Shares{{1, 1}, {2, 1}, {0, 16}, {3, 16}, {4, 16}}));
  EXPECT_EQ(plan({prompt(90), decoding(7), decoding(7)}, budget).shares,
            (Shares{{1, 1}, {2, 1}, {0, 32}}));
}

TEST(Scheduler, PromptsShareTheBudgetAndAShortOneDoesNotWaitForALongOne) {
  EXPECT_EQ(plan({prompt(300), prompt(300), prompt(300)}, {.tokens = 512}).shares,
            (Shares{{0, 171}, {1, 171}, {2, 170}}));
  EXPECT_EQ(plan({prompt(10000), prompt(20), prompt(300)}, {.tokens = 256}).shares,
            (Shares{{0, 86}, {1, 20}, {2, 150}}));
  // What is too little to be shared goes in line.
  EXPECT_EQ(plan({prompt(300), prompt(300), prompt(300)}, {.tokens = 20}).shares,
            (Shares{{0, 8}, {1, 8}, {2, 4}}));
}

TEST(Scheduler, APriorityIsServedBeforeTheNextOne) {
  Candidate later = prompt(300);
  later.priority = 1;
  EXPECT_EQ(plan({prompt(100), prompt(100), later}, {.tokens = 128}).shares,
            (Shares{{0, 64}, {1, 64}}));
  EXPECT_EQ(plan({prompt(50), prompt(50), later}, {.tokens = 128}).shares,
            (Shares{{0, 50}, {1, 50}, {2, 28}}));
}

TEST(Scheduler, AStepInWhichPromptsStartIsShortSoThatOthersCanJoin) {
  const Budget budget{.tokens = 512, .tokens_at_start = 64, .free_blocks = 100};
  EXPECT_EQ(plan({waiting(300)}, budget).shares, (Shares{{0, 64}}));
  EXPECT_EQ(plan({prompt(300, 64)}, budget).shares, (Shares{{0, 236}}));
  EXPECT_EQ(plan({prompt(300, 64), waiting(100)}, budget).shares, (Shares{{0, 32}, {1, 32}}));
}

TEST(Scheduler, WhoAwaitsAPrefixIsOvertakenMeanwhile) {
  Candidate same = waiting(100);
  same.awaits_prefix = true;
  EXPECT_EQ(plan({prompt(100), same, waiting(60)}, {.free_blocks = 100}).shares,
            (Shares{{0, 100}, {2, 60}}));
}

TEST(Scheduler, AWaitingSequenceStartsWithBlocksForAllItsIdsAndNoneOvertakes) {
  const std::vector<Candidate> line{waiting(150), waiting(60)};
  EXPECT_EQ(plan(line, {.free_blocks = 4}).shares, Shares{});
  EXPECT_EQ(plan(line, {.free_blocks = 5}).shares, (Shares{{0, 150}}));
  EXPECT_EQ(plan(line, {.free_blocks = 7}).shares, (Shares{{0, 150}}));
  // One block more for the first, which runs by then.
  EXPECT_EQ(plan(line, {.free_blocks = 8}).shares, (Shares{{0, 150}, {1, 60}}));
}

TEST(Scheduler, BlocksThatOthersHoldCostNothing) {
  Candidate c = waiting(150);
  c.computed = 128;
  c.blocks = 4;
  EXPECT_EQ(plan({c}, {.free_blocks = 1}).shares, (Shares{{0, 22}}));
  c.blocks = 3;  // the fourth is there, but evictable
  EXPECT_EQ(plan({c}, {.free_blocks = 1}).shares, Shares{});
}

TEST(Scheduler, NoMoreSequencesThanSlots) {
  EXPECT_EQ(
      plan({decoding(5), waiting(5), waiting(5)}, {.sequences = 2, .free_blocks = 100}).shares,
      (Shares{{0, 1}, {1, 5}}));
}

TEST(Scheduler, WhoeverIsBehindAWaitingOneGoesOn) {
  EXPECT_EQ(plan({waiting(100), prompt(50)}, {.sequences = 1, .free_blocks = 100}).shares,
            (Shares{{1, 50}}));
}

TEST(Scheduler, ADecodeWithoutABlockPreemptsTheLastInLine) {
  const Planned planned =
      plan({decoding(33, 1), decoding(40, 2), decoding(50, 2)}, {.free_blocks = 0});
  EXPECT_EQ(planned.preempted, (Indices{2}));
  EXPECT_EQ(planned.shares, (Shares{{0, 1}, {1, 1}}));
}

TEST(Scheduler, MoreThanOneIsPreemptedWhereOneGivesNothingBack) {
  const Planned planned =
      plan({decoding(33, 1), decoding(40, 2), waiting(9), decoding(50, 0)}, {.free_blocks = 0});
  EXPECT_EQ(planned.preempted, (Indices{3, 1}));
  EXPECT_EQ(planned.shares, (Shares{{0, 1}}));
}

TEST(Scheduler, TheLastInLinePreemptsItself) {
  const Planned planned = plan({decoding(40, 2), decoding(65, 2)}, {.free_blocks = 0});
  EXPECT_EQ(planned.preempted, (Indices{1}));
  EXPECT_EQ(planned.shares, (Shares{{0, 1}}));
}

TEST(Scheduler, NobodyStartsInAStepThatPreempts) {
  const Planned planned = plan({decoding(33, 1), decoding(50, 60), waiting(9)}, {.free_blocks = 0});
  EXPECT_EQ(planned.preempted, (Indices{1}));
  EXPECT_EQ(planned.shares, (Shares{{0, 1}}));
}

TEST(Scheduler, RowsForEachPromptTokenComeAfterTheDecodes) {
  Candidate scored = prompt(100);
  scored.wants_all_rows = true;
  EXPECT_EQ(plan({scored, decoding(5), decoding(6)}, {.rows = 10}).shares,
            (Shares{{1, 1}, {2, 1}, {0, 8}}));
}

TEST(Scheduler, ALastPromptTokenIsADecodeLikeAnyOther) {
  EXPECT_EQ(plan({prompt(1)}, {}).shares, (Shares{{0, 1}}));
}

}  // namespace
}  // namespace pawl::engine
