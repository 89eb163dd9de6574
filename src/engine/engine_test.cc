// SPDX-License-Identifier: Apache-2.0
// The step on a small model: what a request gets does not depend on who runs beside it, every token
// costs one pass, every life ends once and gives its blocks back.
#include "engine/engine_for_test.h"

namespace pawl::engine {
namespace {

using base::TokenId;

class EngineTest : public SmallModelTest {
 protected:
  void SetUp() override { open("gemma3", 2); }

  std::unique_ptr<Engine> engine(const EngineLimits& limits) const {
    return SmallModelTest::engine(limits, clock_);
  }

  base::SteadyClock clock_;
};

TEST_F(EngineTest, S052_TextDoesNotDependOnNeighboursOrBudget) {
  Recorder alone;
  auto single = engine({.context = 256});
  ASSERT_TRUE(single->submit(request_for(alone, numbered_prompt(40, 0), 60)).ok());
  single->run_until_idle();
  ASSERT_EQ(alone.ids.size(), 60u);

  for (const int64_t budget : {8, 23, 512}) {
    auto shared = engine(
        {.context = 256, .kv_positions = 2048, .max_sequences = 8, .tokens_per_step = budget});
    std::vector<Recorder> recorders(9);
    for (int i = 0; i < 9; ++i) {
      const int salt = i % 3;
      ASSERT_TRUE(shared
                      ->submit(request_for(recorders[static_cast<size_t>(i)],
                                           numbered_prompt(40 + 30 * salt, salt), 60))
                      .ok());
    }
    shared->run_until_idle();
    for (size_t i = 0; i < 9; i += 3) EXPECT_EQ(recorders[i].ids, alone.ids) << "budget " << budget;
    EXPECT_NE(recorders[1].ids, alone.ids);
  }
}

TEST_F(EngineTest, GreedyIdsAreThoseOfTheReference) {
  const auto path = tests::golden_path("tiny/gemma3.json");
  if (!path) GTEST_SKIP() << "missing: golden/tiny/gemma3.json";
  const auto info = tests::read_json(*path);
  Recorder recorder;
  Request r = request_for(recorder, info["sequences"][1].get<std::vector<TokenId>>(), 32);
  r.policy.temperature = 0;
  auto e = engine({.context = 256});
  ASSERT_TRUE(e->submit(std::move(r)).ok());
  e->run_until_idle();
  EXPECT_EQ(recorder.ids, info["greedy"]["ids"].get<std::vector<TokenId>>());
}

TEST_F(EngineTest, EveryTokenCostsOnePass) {
  Recorder recorder;
  auto e = engine({.context = 256, .tokens_per_step = 16});
  ASSERT_TRUE(e->submit(request_for(recorder, numbered_prompt(40, 1), 20)).ok());
  e->run_until_idle();
  EXPECT_EQ(recorder.finished.usage.prompt_tokens, 40);
  EXPECT_EQ(recorder.finished.usage.completion_tokens, 20);
  // 40 prompt positions in chunks of 16 take three passes, the last of which gives the first token.
  EXPECT_EQ(recorder.finished.usage.forward_passes, 2 + 20);
  EXPECT_EQ(recorder.finished.reason, FinishReason::kLength);
}

TEST_F(EngineTest, CancellingEndsWithinOneStepAndGivesAllBlocksBack) {
  auto e = engine({.context = 256, .kv_positions = 1024});
  const int32_t before = e->free_blocks();
  Recorder quits, stays, never_starts;
  quits.stop_after = 5;
  ASSERT_TRUE(e->submit(request_for(quits, numbered_prompt(40, 0), 60)).ok());
  ASSERT_TRUE(e->submit(request_for(stays, numbered_prompt(40, 1), 30)).ok());
  ASSERT_TRUE(e->submit(request_for(never_starts, numbered_prompt(40, 2), 30)).ok());
  never_starts.source.request_stop();
  never_starts.source.request_stop();  // twice is once
  e->run_until_idle();
  EXPECT_EQ(quits.finished.reason, FinishReason::kCancelled);
  EXPECT_EQ(quits.ids.size(), 5u);
  EXPECT_EQ(quits.finished.usage.completion_tokens, 5);
  EXPECT_EQ(never_starts.finished.usage.forward_passes, 0);
  EXPECT_EQ(stays.ids.size(), 30u);
  for (const Recorder* r : {&quits, &stays, &never_starts}) EXPECT_EQ(r->finishes, 1);
  EXPECT_EQ(e->free_blocks(), before);
}

TEST_F(EngineTest, S023_APromptThatLeavesNoRoomIsRefusedWithBothNumbers) {
  auto e = engine({.context = 256});
  Recorder recorder;
  ASSERT_TRUE(e->submit(request_for(recorder, numbered_prompt(255, 0), 10)).ok());
  e->run_until_idle();
  EXPECT_EQ(recorder.ids.size(), 1u);
  EXPECT_EQ(recorder.finished.reason, FinishReason::kLength);
  for (const int length : {256, 257, 2560}) {
    const auto refused = e->submit(request_for(recorder, numbered_prompt(length, 0), 10));
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find(std::to_string(length)), std::string::npos);
    EXPECT_NE(refused.error().message.find("context of 256"), std::string::npos);
  }
}

TEST_F(EngineTest, S024_GenerationEndsAtTheEndOfTheContext) {
  auto e = engine({.context = 64});
  Recorder recorder, after;
  ASSERT_TRUE(e->submit(request_for(recorder, numbered_prompt(40, 0), 100000)).ok());
  e->run_until_idle();
  EXPECT_EQ(recorder.ids.size(), 24u);
  EXPECT_EQ(recorder.finished.reason, FinishReason::kLength);
  ASSERT_TRUE(e->submit(request_for(after, numbered_prompt(40, 0), 3)).ok());
  e->run_until_idle();
  EXPECT_EQ(after.ids.size(), 3u);
}

TEST_F(EngineTest, S006_IdsOutsideTheVocabularyAreNamedWithTheRange) {
  auto e = engine({.context = 256});
  Recorder recorder;
  for (const TokenId id : {-1, 512, 2147483647}) {
    const auto refused = e->submit(request_for(recorder, {2, id}, 4));
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find(std::to_string(id)), std::string::npos);
    EXPECT_NE(refused.error().message.find("511"), std::string::npos) << refused.error().message;
  }
}

TEST_F(EngineTest, S053_MoreRequestsThanRoomAreAnsweredInOrderOfArrival) {
  auto e = engine({.context = 128, .max_sequences = 1, .tokens_per_step = 64});
  std::vector<Recorder> recorders(4);
  std::vector<int64_t> finished_ns;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(
        e->submit(request_for(recorders[static_cast<size_t>(i)], numbered_prompt(20, i), 10)).ok());
  }
  e->run_until_idle();
  for (const Recorder& r : recorders) {
    ASSERT_EQ(r.ids.size(), 10u);
    finished_ns.push_back(r.finished.timeline.finished_ns);
  }
  EXPECT_TRUE(std::is_sorted(finished_ns.begin(), finished_ns.end()));
}

// The text of a run, cut at its own middle: nothing of the stop string or after it comes out.
TEST_F(EngineTest, S021_NoByteOfAStopStringLeaves) {
  auto e = engine({.context = 256});
  Recorder whole;
  ASSERT_TRUE(e->submit(request_for(whole, numbered_prompt(40, 0), 60)).ok());
  e->run_until_idle();
  size_t begin = whole.text.size() / 2;
  while ((static_cast<unsigned char>(whole.text[begin]) & 0xc0) == 0x80) ++begin;
  size_t end = begin + 6;
  while (end < whole.text.size() && (static_cast<unsigned char>(whole.text[end]) & 0xc0) == 0x80)
    ++end;
  const std::string stop = whole.text.substr(begin, end - begin);

  Recorder stopped;
  Request r = request_for(stopped, numbered_prompt(40, 0), 60);
  r.stops.strings = {"not in there", stop};
  ASSERT_TRUE(e->submit(std::move(r)).ok());
  e->run_until_idle();
  EXPECT_EQ(stopped.text, whole.text.substr(0, whole.text.find(stop)));
  EXPECT_EQ(stopped.finished.reason, FinishReason::kStop);
  EXPECT_EQ(stopped.finished.stop_string, stop);
}

TEST_F(EngineTest, NoTokensAskedForMeansThePromptAlone) {
  auto e = engine({.context = 256});
  Recorder recorder;
  ASSERT_TRUE(e->submit(request_for(recorder, numbered_prompt(40, 0), 0)).ok());
  e->run_until_idle();
  EXPECT_TRUE(recorder.ids.empty());
  EXPECT_EQ(recorder.finished.usage.forward_passes, 1);
  EXPECT_EQ(recorder.finished.timeline.first_token_ns, 0);
}

}  // namespace
}  // namespace pawl::engine
