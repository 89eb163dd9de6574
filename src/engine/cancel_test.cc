// SPDX-License-Identifier: Apache-2.0
// Requests that are stopped at any moment of their lives, while others run: blocks come back within
// one step, the bill says what was computed, and nobody else is touched.
#include <algorithm>
#include <random>

#include "engine/engine_for_test.h"
#include "support/golden.h"

namespace pawl::engine {
namespace {

class CancelTest : public SmallModelTest {
 protected:
  static constexpr int kKinds = 10;

  void SetUp() override { open("llama-spm", 1); }

  void start(EngineLimits limits) {
    auto made = Engine::create(*runtime_, limits, clock_);
    ASSERT_TRUE(made.ok());
    engine_ = std::move(made).value();
    before_ = engine_->free_blocks();
  }

  void submit(Recorder& recorder, int kind) {
    ASSERT_TRUE(engine_->submit(request(recorder, kind)).ok());
  }
  static Request request(Recorder& recorder, int kind) {
    return request_for(recorder, numbered_prompt(20 + 17 * kind, kind), 30 + 3 * kind);
  }

  std::vector<base::TokenId> alone(int kind) {
    std::vector<base::TokenId>& ids = alone_[kind];
    if (ids.empty()) {
      Recorder recorder;
      run_alone(*runtime_, request(recorder, kind), recorder);
      ids = recorder.ids;
    }
    return ids;
  }

  base::SteadyClock clock_;
  std::unique_ptr<Engine> engine_;
  int32_t before_ = 0;
  std::map<int, std::vector<base::TokenId>> alone_;
};

TEST_F(CancelTest, S039_AThousandRandomCancelsLeaveNothingAndTouchNobody) {
  // So few blocks that running requests are preempted again and again.
  start({.context = 256,
         .kv_positions = 320,
         .max_sequences = 4,
         .tokens_per_step = 24,
         .tokens_beside_decode = 8});
  struct Live {
    std::unique_ptr<Recorder> recorder;
    int kind;
    int64_t steps_to_cancel;  // < 0: it runs to its end
  };
  std::mt19937 random(3);
  std::vector<Live> live;
  int cancelled = 0, whole = 0, queued = 0, in_prompt = 0, in_decode = 0, preempted = 0;
  while (cancelled < 1000) {
    while (live.size() < 7) {
      const int kind = static_cast<int>(random() % kKinds);
      const int64_t after = random() % 4 == 0 ? -1 : static_cast<int64_t>(random() % 40);
      live.push_back({std::make_unique<Recorder>(), kind, after});
      submit(*live.back().recorder, kind);
    }
    for (Live& l : live) {
      if (l.steps_to_cancel-- != 0) continue;
      l.recorder->source.request_stop();
      l.recorder->source.request_stop();  // twice is once
    }
    engine_->step();
    std::erase_if(live, [&](const Live& l) {
      const Recorder& r = *l.recorder;
      const bool was_asked = r.source.stop_requested();
      EXPECT_LE(r.finishes, 1);
      EXPECT_TRUE(!was_asked || r.finishes == 1);  // within the step
      if (r.finishes == 0) return false;
      const std::vector<base::TokenId> expected = alone(l.kind);
      const Usage& usage = r.finished.usage;
      EXPECT_EQ(usage.completion_tokens, static_cast<int64_t>(r.ids.size()));
      EXPECT_TRUE(std::equal(r.ids.begin(), r.ids.end(), expected.begin()));
      if (!was_asked) {
        EXPECT_EQ(r.finished.reason, FinishReason::kLength);
        EXPECT_EQ(r.ids, expected);
        ++whole;
        return true;
      }
      EXPECT_EQ(r.finished.reason, FinishReason::kCancelled);
      ++cancelled;
      preempted += usage.preemptions > 0 ? 1 : 0;
      ++(usage.forward_passes == 0 ? queued : usage.completion_tokens == 0 ? in_prompt : in_decode);
      return true;
    });
  }
  for (const Live& l : live) l.recorder->source.request_stop();
  engine_->run_until_idle();
  EXPECT_EQ(engine_->free_blocks(), before_);
  for (const int count : {whole, queued, in_prompt, in_decode}) EXPECT_GT(count, 10);
  EXPECT_GT(preempted, 0) << "of " << whole << " " << queued << " " << in_prompt << " "
                          << in_decode;
}

TEST_F(CancelTest, S040_LeavingTheQueueStopsNobodyElse) {
  for (int round = 0; round < 50; ++round) {
    start({.context = 256, .max_sequences = 1});
    Recorder runs, leaves;
    submit(runs, 0);
    for (int i = 0; i < round % 25; ++i) engine_->step();
    submit(leaves, 1);
    engine_->step();
    leaves.source.request_stop();
    engine_->step();
    EXPECT_EQ(leaves.finishes, 1);
    engine_->run_until_idle();
    EXPECT_EQ(runs.ids, alone(0));
    EXPECT_EQ(engine_->free_blocks(), before_);
  }
}

TEST_F(CancelTest, S042_AllChoicesOfARequestEndTogether) {
  start({.context = 256, .kv_positions = 1024});
  for (int round = 0; round < 100; ++round) {
    std::vector<Recorder> choices(4);
    std::stop_source source;
    for (int i = 0; i < 4; ++i) {
      Request r = request(choices[static_cast<size_t>(i)], round % kKinds);
      r.policy.seed = static_cast<uint64_t>(i);
      r.stop_token = source.get_token();
      ASSERT_TRUE(engine_->submit(std::move(r)).ok());
    }
    while (choices[0].ids.empty()) engine_->step();
    source.request_stop();
    EXPECT_FALSE(engine_->step());
    for (const Recorder& r : choices) EXPECT_EQ(r.finished.reason, FinishReason::kCancelled);
    ASSERT_EQ(engine_->free_blocks(), before_);
  }
}

TEST_F(CancelTest, S044_TheBillOfACancelledRequestIsWhatRan) {
  start({.context = 256, .tokens_per_step = 16});
  Recorder in_prompt, in_decode;
  submit(in_prompt, 3);  // 71 tokens
  engine_->step();
  engine_->step();
  in_prompt.source.request_stop();
  engine_->step();
  EXPECT_EQ(in_prompt.finished.usage.computed_tokens, 32);
  EXPECT_EQ(in_prompt.finished.usage.forward_passes, 2);
  EXPECT_EQ(in_prompt.finished.usage.completion_tokens, 0);
  in_decode.stop_after = 20;
  submit(in_decode, 0);  // 20 tokens
  engine_->run_until_idle();
  EXPECT_EQ(in_decode.finished.usage.completion_tokens, 20);
  EXPECT_EQ(in_decode.finished.usage.computed_tokens, 20 + 19);
  EXPECT_EQ(in_decode.finished.usage.forward_passes, 2 + 19);
}

TEST_F(CancelTest, S043_WhatEndsByItselfIsNotCancelled) {
  start({.context = 256, .kv_positions = 1024});
  std::vector<Recorder> recorders(200);
  for (size_t i = 0; i < recorders.size(); ++i) submit(recorders[i], static_cast<int>(i % kKinds));
  engine_->run_until_idle();
  for (size_t i = 0; i < recorders.size(); ++i) {
    EXPECT_EQ(recorders[i].finished.reason, FinishReason::kLength);
    EXPECT_EQ(recorders[i].ids, alone(static_cast<int>(i % kKinds)));
  }
}

}  // namespace
}  // namespace pawl::engine
