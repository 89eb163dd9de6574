// SPDX-License-Identifier: Apache-2.0
#include "engine/draft.h"

#include <gtest/gtest.h>

#include "engine/engine_for_test.h"

namespace pawl::engine {
namespace {

using Ids = std::vector<base::TokenId>;

Ids guesses(const LookupDraft& draft, const Ids& ids, int64_t room = 100) {
  const auto found = draft.propose(ids, room);
  return {found.begin(), found.end()};
}

TEST(LookupDraft, FollowsTheLatestPlaceWhereTheLastIdsStoodBefore) {
  const LookupDraft draft(16);
  EXPECT_EQ(guesses(draft, {1, 2, 3, 4, 5, 1, 2, 7, 8, 9, 1, 2}), (Ids{7, 8, 9, 1}));
  EXPECT_EQ(guesses(draft, {1, 2, 3, 4, 5, 1, 2}, 2), (Ids{3, 4}));
  EXPECT_EQ(guesses(draft, {6, 6, 6}), (Ids{6}));  // a run: the place overlaps
}

TEST(LookupDraft, GuessesNothingWithoutAMatchOrRoom) {
  EXPECT_TRUE(guesses(LookupDraft(16), {1, 2, 3, 1, 3}).empty());
  EXPECT_TRUE(guesses(LookupDraft(16), {1, 2}).empty());
  EXPECT_TRUE(guesses(LookupDraft(16), {}).empty());
  EXPECT_TRUE(guesses(LookupDraft(16), {1, 2, 3, 1, 2}, 0).empty());
  EXPECT_TRUE(guesses(LookupDraft(16), {1, 2, 3, 1, 2}, -1).empty());
  EXPECT_TRUE(guesses(LookupDraft(0), {1, 2, 3, 1, 2}).empty());
}

TEST(LookupDraft, GuessesMoreWhileRightAndLessWhileWrong) {
  Ids ids;
  for (int round = 0; round < 2; ++round) {
    for (int id = 0; id < 40; ++id) ids.push_back(id);
  }
  ids.resize(60);
  LookupDraft draft(16);
  EXPECT_EQ(guesses(draft, ids).size(), 4u);
  draft.record(4, 4);
  draft.record(8, 8);
  draft.record(16, 16);
  EXPECT_EQ(guesses(draft, ids).size(), 16u);
  draft.record(16, 3);  // some right: as before
  EXPECT_EQ(guesses(draft, ids).size(), 16u);
  for (int i = 0; i < 10; ++i) draft.record(1, 0);
  EXPECT_EQ(guesses(draft, ids).size(), 1u);
  EXPECT_TRUE(
      guesses(draft, {1, 2, 3, 4, 5, 1, 2, 3, 4}).empty());  // four alike are no longer enough
}

// A prompt that repeats itself, so that a model of random weights is guessed at, rightly or not.
Ids repeating_prompt() {
  Ids prompt;
  for (int i = 0; i < 60; ++i) prompt.push_back(5 + i % 6);
  return prompt;
}

class Drafts : public SmallModelTest {
 protected:
  void SetUp() override { open("gemma3", 2); }
  void start(const EngineLimits& limits) {
    digests_ = {};
    auto made = Engine::create(*runtime_, limits, clock_, &digests_);
    ASSERT_TRUE(made.ok());
    engine_ = std::move(made).value();
  }

  // The ids of one request, and what it took.
  Finished run(int drafts, double temperature, Ids& ids, EngineLimits limits = {.context = 512}) {
    start(limits);
    Recorder recorder;
    Request request = request_for(recorder, repeating_prompt(), 100);
    request.policy.temperature = temperature;
    request.draft_tokens = drafts;
    EXPECT_TRUE(engine_->submit(std::move(request)).ok());
    const int32_t free = engine_->free_blocks();
    engine_->run_until_idle();
    EXPECT_EQ(engine_->free_blocks(), free);
    ids = recorder.ids;
    return recorder.finished;
  }

  base::SteadyClock clock_;
  Digests digests_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(Drafts, ChangeNoTokenAndSavePasses) {
  for (const double temperature : {0.0, 1.0}) {
    Ids plain, drafted;
    const Finished without = run(0, temperature, plain);
    const Digests::Rows rows = digests_.rows.at(1);
    const Finished with = run(8, temperature, drafted);
    EXPECT_EQ(drafted, plain);
    EXPECT_EQ(digests_.rows.at(1), rows);
    EXPECT_EQ(without.usage.drafted_tokens, 0);
    EXPECT_EQ(without.usage.accepted_draft_tokens, 0);
    EXPECT_GE(with.usage.drafted_tokens, with.usage.accepted_draft_tokens);
    // Every token but those that a draft had right cost a pass.
    EXPECT_EQ(with.usage.forward_passes + with.usage.accepted_draft_tokens,
              without.usage.forward_passes);
    EXPECT_EQ(
        with.usage.computed_tokens - with.usage.drafted_tokens + with.usage.accepted_draft_tokens,
        without.usage.computed_tokens);
    if (temperature == 0) {
      EXPECT_GT(with.usage.accepted_draft_tokens, 10);
    }
  }
}

TEST_F(Drafts, FitIntoWhatTheEngineHas) {
  Ids plain, drafted;
  run(0, 0, plain, {.context = 130});
  const Finished at_the_end = run(16, 0, drafted, {.context = 130});
  EXPECT_EQ(drafted, plain);
  EXPECT_EQ(at_the_end.reason, FinishReason::kLength);
  run(16, 0, drafted, {.context = 130, .max_sequences = 1, .tokens_per_step = 2, .prompt_rows = 1});
  EXPECT_EQ(drafted, plain);
}

TEST_F(Drafts, S041_CancelledWhileADraftIsVerifiedNothingLeaks) {
  start({.context = 512});
  const int32_t free = engine_->free_blocks();
  for (int cancelled_at = 1; cancelled_at < 12; ++cancelled_at) {
    std::stop_source stop;
    Recorder recorder;
    Request request = request_for(recorder, repeating_prompt(), 100);
    request.draft_tokens = 8;
    request.stop_token = stop.get_token();
    ASSERT_TRUE(engine_->submit(std::move(request)).ok());
    for (int i = 0; i < cancelled_at; ++i) engine_->step();
    stop.request_stop();
    stop.request_stop();
    engine_->run_until_idle();
    EXPECT_EQ(recorder.finishes, 1);
    EXPECT_EQ(recorder.finished.reason, FinishReason::kCancelled);
    EXPECT_EQ(recorder.finished.usage.completion_tokens, static_cast<int64_t>(recorder.ids.size()));
    EXPECT_EQ(engine_->free_blocks(), free);
  }
}

}  // namespace
}  // namespace pawl::engine
