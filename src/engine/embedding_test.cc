// SPDX-License-Identifier: Apache-2.0
// Requests for a vector in place of a completion, beside others that generate. What the numbers
// should be is the matter of model/embedding_test.cc.
#include "engine/engine_for_test.h"

namespace pawl::engine {
namespace {

class EngineEmbedding : public SmallModelTest {
 protected:
  void SetUp() override { open("qwen3", 2); }

  static Request embedding_for(Recorder& recorder, std::vector<base::TokenId> prompt,
                               Pooling pooling = Pooling::kMean) {
    Request r = request_for(recorder, std::move(prompt), 128);
    r.pooling = pooling;
    return r;
  }

  std::vector<float> alone(const std::vector<base::TokenId>& prompt, Pooling pooling) const {
    Recorder recorder;
    run_alone(*runtime_, embedding_for(recorder, prompt, pooling), recorder);
    EXPECT_EQ(recorder.finished.reason, FinishReason::kLength);
    EXPECT_TRUE(recorder.ids.empty());
    return recorder.finished.embedding;
  }

  base::SteadyClock clock_;
};

TEST_F(EngineEmbedding, IsOfLengthOneAndCountsItsTokens) {
  Recorder recorder;
  run_alone(*runtime_, embedding_for(recorder, numbered_prompt(80, 0)), recorder);
  const std::vector<float>& vector = recorder.finished.embedding;
  ASSERT_EQ(vector.size(), static_cast<size_t>(runtime_->model()->config().width));
  double squares = 0;
  for (const float x : vector) squares += static_cast<double>(x) * static_cast<double>(x);
  EXPECT_NEAR(squares, 1, 1e-6);
  EXPECT_EQ(recorder.finished.usage.prompt_tokens, 80);
  EXPECT_EQ(recorder.finished.usage.computed_tokens, 80);
  EXPECT_EQ(recorder.finished.usage.completion_tokens, 0);
}

TEST_F(EngineEmbedding, SameBitsBesideOthersInEveryChunkingAndWithAPrefixThatIsThere) {
  const std::vector<base::TokenId> prompt = numbered_prompt(90, 0);
  for (const Pooling pooling : {Pooling::kMean, Pooling::kLast, Pooling::kFirst}) {
    const std::vector<float> expected = alone(prompt, pooling);
    for (const int64_t tokens : {8, 64, 256}) {
      auto made = engine({.context = 512, .kv_positions = 4096, .tokens_per_step = tokens}, clock_);
      std::vector<Recorder> others(3), again(2);
      for (size_t i = 0; i < others.size(); ++i)
        ASSERT_TRUE(made->submit(request_for(others[i], numbered_prompt(40, 0), 20)).ok());
      for (int step = 0; step < 8; ++step) made->step();
      for (Recorder& recorder : again)
        ASSERT_TRUE(made->submit(embedding_for(recorder, prompt, pooling)).ok());
      made->run_until_idle();
      for (const Recorder& recorder : again) {
        EXPECT_EQ(recorder.finished.embedding, expected);
        EXPECT_EQ(recorder.finishes, 1);
      }
    }
  }
}

TEST_F(EngineEmbedding, APreemptedOneBeginsItsSumAgain) {
  const std::vector<base::TokenId> prompt = numbered_prompt(80, 0);
  const std::vector<float> expected = alone(prompt, Pooling::kMean);
  auto made = engine({.context = 256, .tokens_per_step = 16, .tokens_beside_decode = 1}, clock_);
  std::vector<Recorder> others(2);
  for (size_t i = 0; i < others.size(); ++i) {
    Request r = request_for(others[i], numbered_prompt(20, 20 + static_cast<int>(i)), 200);
    r.priority = -1;
    ASSERT_TRUE(made->submit(std::move(r)).ok());
  }
  for (int step = 0; step < 5; ++step) made->step();
  Recorder recorder;
  ASSERT_TRUE(made->submit(embedding_for(recorder, prompt)).ok());
  made->run_until_idle();
  EXPECT_GT(recorder.finished.usage.preemptions, 0);
  EXPECT_EQ(recorder.finished.embedding, expected);
  EXPECT_EQ(made->free_blocks(), 8);
}

TEST_F(EngineEmbedding, ATextMayFillTheContextAndOneThatIsLongerIsRefused) {
  auto made = engine({.context = 64}, clock_);
  Recorder fits, exceeds;
  ASSERT_TRUE(made->submit(embedding_for(fits, numbered_prompt(64, 0))).ok());
  const auto refused = made->submit(embedding_for(exceeds, numbered_prompt(65, 0)));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "the prompt has 65 tokens, more than a context of 64");
  made->run_until_idle();
  EXPECT_EQ(fits.finished.reason, FinishReason::kLength);
  EXPECT_FALSE(fits.finished.embedding.empty());
}

TEST_F(EngineEmbedding, OneThatIsCancelledHasNoVector) {
  auto made = engine({.context = 512, .tokens_per_step = 8}, clock_);
  Recorder recorder;
  ASSERT_TRUE(made->submit(embedding_for(recorder, numbered_prompt(200, 0))).ok());
  for (int step = 0; step < 3; ++step) made->step();
  recorder.source.request_stop();
  made->run_until_idle();
  EXPECT_EQ(recorder.finished.reason, FinishReason::kCancelled);
  EXPECT_TRUE(recorder.finished.embedding.empty());
}

}  // namespace
}  // namespace pawl::engine
