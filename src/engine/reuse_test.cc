// SPDX-License-Identifier: Apache-2.0
// What the step does with KV blocks: reuse, preemption, priorities; and what it tells of prompts.
#include <algorithm>
#include <cmath>

#include "engine/engine_for_test.h"
#include "support/golden.h"
#include "support/logits.h"

namespace pawl::engine {
namespace {

using base::TokenId;

class ReuseTest : public SmallModelTest {
 protected:
  void SetUp() override { open("gemma3", 2); }

  std::unique_ptr<Engine> engine(const EngineLimits& limits) const {
    return SmallModelTest::engine(limits, clock_);
  }

  base::FakeClock clock_;
};

TEST_F(ReuseTest, S048_ASharedSystemPromptIsComputedOnce) {
  auto e = engine({.context = 1024});
  Recorder first, second;
  std::vector<TokenId> a = numbered_prompt(500, 0), b = a;
  for (int i = 0; i < 20; ++i) a.push_back(10 + i), b.push_back(200 + i);
  ASSERT_TRUE(e->submit(request_for(first, a, 8)).ok());
  e->run_until_idle();
  ASSERT_TRUE(e->submit(request_for(second, b, 8)).ok());
  e->run_until_idle();
  EXPECT_EQ(first.finished.usage.cached_tokens, 0);
  EXPECT_EQ(first.finished.usage.computed_tokens, 520 + 7);
  EXPECT_GE(second.finished.usage.cached_tokens, 490);
  EXPECT_EQ(second.finished.usage.computed_tokens + second.finished.usage.cached_tokens, 520 + 7);
  EXPECT_EQ(e->stats().prefix_queried_tokens, 1040);
  EXPECT_EQ(e->stats().prefix_hit_tokens, second.finished.usage.cached_tokens);
}

TEST_F(ReuseTest, PromptsThatBeginAlikeAndComeTogetherAreComputedOnce) {
  Recorder alone;
  run_alone(*runtime_, request_for(alone, numbered_prompt(200, 0), 12), alone);
  for (const int64_t tokens_per_step : {40, 256}) {
    auto e = engine({.context = 512, .tokens_per_step = tokens_per_step});
    std::vector<Recorder> same(4);
    Recorder other;
    for (Recorder& recorder : same)
      ASSERT_TRUE(e->submit(request_for(recorder, numbered_prompt(200, 0), 12)).ok());
    ASSERT_TRUE(e->submit(request_for(other, numbered_prompt(30, 9), 12)).ok());
    e->run_until_idle();
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(same[i].ids, alone.ids);
      EXPECT_EQ(same[i].finished.usage.cached_tokens, i == 0 ? 0 : 192) << i;
    }
    EXPECT_EQ(other.finished.usage.cached_tokens, 0);
  }
}

TEST_F(ReuseTest, TheNextTurnOfAChatFindsTheAnswerToo) {
  auto e = engine({.context = 1024});
  Recorder first, second;
  std::vector<TokenId> chat = numbered_prompt(100, 0);
  ASSERT_TRUE(e->submit(request_for(first, chat, 60)).ok());
  e->run_until_idle();
  chat.insert(chat.end(), first.ids.begin(), first.ids.end());
  for (int i = 0; i < 10; ++i) chat.push_back(300 + i);
  ASSERT_TRUE(e->submit(request_for(second, chat, 4)).ok());
  e->run_until_idle();
  EXPECT_GE(second.finished.usage.cached_tokens, 152);
}

TEST_F(ReuseTest, RequestsWithDifferentSaltsShareNothing) {
  auto e = engine({.context = 256});
  Recorder mine, theirs, mine_again;
  for (auto [recorder, salt] :
       {std::pair{&mine, "a"}, std::pair{&theirs, "b"}, std::pair{&mine_again, "a"}}) {
    Request r = request_for(*recorder, numbered_prompt(110, 0), 4);
    r.cache_salt = salt;
    ASSERT_TRUE(e->submit(std::move(r)).ok());
    e->run_until_idle();
  }
  EXPECT_EQ(theirs.finished.usage.cached_tokens, 0);
  EXPECT_EQ(mine_again.finished.usage.cached_tokens, 109);
  EXPECT_EQ(theirs.ids, mine.ids);
}

TEST_F(ReuseTest, S051_ThousandsOfPromptsStayWithinTheirBlocks) {
  auto e = engine({.context = 64, .kv_positions = 64 * 32, .prompt_rows = 1});
  const int64_t blocks = e->stats().kv_blocks;
  for (int i = 0; i < 3000; ++i) {
    Recorder recorder;
    Request r = request_for(recorder, {2, 6 + i % 500, 6 + i / 500, 7, 8, 9, 10, 11, 12}, 1);
    ASSERT_TRUE(e->submit(std::move(r)).ok());
    e->run_until_idle();
    const EngineStats stats = e->stats();
    ASSERT_EQ(stats.kv_blocks, blocks);
    ASSERT_EQ(stats.kv_blocks_free + stats.kv_blocks_evictable, blocks);
  }
}

TEST_F(ReuseTest, RunningSequencesThatOutgrowTheBlocksArePreemptedAndAllEndAsAlone) {
  std::vector<Recorder> alone(6), recorders(6);
  const auto request = [](Recorder& recorder, int i) {
    return request_for(recorder, numbered_prompt(20 + i, i), 100 + 10 * i);
  };
  for (int i = 0; i < 6; ++i) {
    Recorder& recorder = alone[static_cast<size_t>(i)];
    run_alone(*runtime_, request(recorder, i), recorder);
  }
  for (const bool has_cache : {true, false}) {
    auto e = engine({.context = 256, .kv_positions = 256, .prefix_cache = has_cache});
    recorders = std::vector<Recorder>(6);
    for (int i = 0; i < 6; ++i)
      ASSERT_TRUE(e->submit(request(recorders[static_cast<size_t>(i)], i)).ok());
    e->run_until_idle();
    int64_t preemptions = 0;
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(recorders[i].ids, alone[i].ids);
      EXPECT_EQ(recorders[i].finishes, 1);
      preemptions += recorders[i].finished.usage.preemptions;
      EXPECT_EQ(recorders[i].finished.usage.cached_tokens, 0);
    }
    EXPECT_GT(preemptions, 0);
    EXPECT_EQ(e->stats().preemptions, preemptions);
    EXPECT_EQ(recorders[0].finished.usage.preemptions, 0);  // the first in line never
    EXPECT_EQ(e->free_blocks(), 8);
  }
}

TEST_F(ReuseTest, WhoeverHasPriorityStartsFirst) {
  auto e = engine({.context = 128, .max_sequences = 1, .tokens_per_step = 64});
  std::vector<Recorder> recorders(4);
  const int priorities[] = {0, 1, -1, 0};
  for (int i = 0; i < 4; ++i) {
    Request r = request_for(recorders[static_cast<size_t>(i)], numbered_prompt(20, i), 3);
    r.priority = priorities[i];
    ASSERT_TRUE(e->submit(std::move(r)).ok());
  }
  std::vector<int> order;
  while (e->step() || order.size() < 4) {
    for (int i = 0; i < 4; ++i) {
      if (recorders[static_cast<size_t>(i)].finishes == 1 && std::ranges::count(order, i) == 0)
        order.push_back(i);
    }
  }
  EXPECT_EQ(order, (std::vector<int>{2, 0, 3, 1}));
}

TEST_F(ReuseTest, ADeadlineEndsARequestInTheStepAfterAndNoOther) {
  auto e = engine({.context = 256});
  Recorder late, waits, on;
  Request r = request_for(late, numbered_prompt(20, 0), 100);
  r.deadline_ns = 1000;
  ASSERT_TRUE(e->submit(std::move(r)).ok());
  ASSERT_TRUE(e->submit(request_for(on, numbered_prompt(20, 1), 20)).ok());
  for (int i = 0; i < 5; ++i) e->step();
  EXPECT_EQ(late.ids.size(), 5u);
  clock_.advance_ns(1000);
  Request never = request_for(waits, numbered_prompt(20, 2), 100);
  never.deadline_ns = 1000;  // over before it starts
  ASSERT_TRUE(e->submit(std::move(never)).ok());
  e->step();
  EXPECT_EQ(late.finished.reason, FinishReason::kDeadline);
  EXPECT_EQ(late.ids.size(), 5u);
  EXPECT_EQ(waits.finished.reason, FinishReason::kDeadline);
  EXPECT_EQ(waits.finished.usage.forward_passes, 0);
  e->run_until_idle();
  EXPECT_EQ(on.ids.size(), 20u);
  EXPECT_EQ(on.finished.reason, FinishReason::kLength);
}

// Expected: log-softmax of the rows of an independent implementation; its tolerance as in
// model/golden_test.cc.
TEST_F(ReuseTest, S050_PromptLogprobsAreThoseOfTheReferenceColdAndWarm) {
  const auto json = tests::golden_path("tiny/gemma3.json");
  const auto npy = tests::golden_path("tiny/gemma3.logits.npy");
  if (!json || !npy) GTEST_SKIP() << "missing: golden/tiny/gemma3.{json,logits.npy}";
  const auto prompt = tests::read_json(*json)["sequences"][0].get<std::vector<TokenId>>();
  const tests::Npy rows = tests::read_npy(*npy);
  auto runtime = Runtime::open(*tests::golden_path("tiny/gemma3.gguf"),
                               {.threads = 2, .precision = model::Precision::kReference});
  ASSERT_TRUE(runtime.ok());
  auto made =
      Engine::create(**runtime, {.context = 256, .kv_positions = 1024, .prompt_rows = 5}, clock_);
  ASSERT_TRUE(made.ok());
  Engine& e = **made;

  std::vector<TokenId> half(prompt.begin(),
                            prompt.begin() + static_cast<ptrdiff_t>(prompt.size()) / 2);
  half.push_back(9);
  Recorder cold, other, warm, busy;
  const struct {
    Recorder* recorder;
    const std::vector<TokenId>* ids;
    int tokens;
  } runs[] = {{&cold, &prompt, 0}, {&other, &half, 5}, {&warm, &prompt, 0}, {&busy, &prompt, 3}};
  for (const auto& [recorder, ids, tokens] : runs) {
    Request r = request_for(*recorder, *ids, tokens);
    r.prompt_logprobs = true;
    std::vector<Recorder> neighbours(3);
    if (recorder == &busy) {
      for (int i = 0; i < 3; ++i) {
        Recorder& neighbour = neighbours[static_cast<size_t>(i)];
        ASSERT_TRUE(e.submit(request_for(neighbour, numbered_prompt(9, i), 40)).ok());
      }
    }
    ASSERT_TRUE(e.submit(std::move(r)).ok());
    e.run_until_idle();
    EXPECT_EQ(recorder->ids.size(), static_cast<size_t>(tokens));
  }
  ASSERT_EQ(cold.prompt.size(), prompt.size() - 1);
  for (size_t i = 1; i < prompt.size(); ++i) {
    const std::span<const float> row(rows.row(static_cast<int64_t>(i) - 1),
                                     static_cast<size_t>(rows.cols));
    const double expected =
        static_cast<double>(row[static_cast<size_t>(prompt[i])]) - tests::log_sum_exp(row);
    EXPECT_NEAR(cold.prompt[i - 1], expected, 2e-3) << "position " << i;
  }
  EXPECT_EQ(warm.prompt, cold.prompt);
  EXPECT_EQ(busy.prompt, cold.prompt);
  EXPECT_TRUE(std::equal(other.prompt.begin(), other.prompt.end() - 1, cold.prompt.begin()));
  EXPECT_EQ(warm.finished.usage.cached_tokens, 0);
}

}  // namespace
}  // namespace pawl::engine
