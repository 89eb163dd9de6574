// SPDX-License-Identifier: Apache-2.0
// The same request alone, beside others, in other chunkings, preempted and with a prefix that was
// there already: the same logits, bit for bit, before every choice.
#include "engine/engine_for_test.h"
#include "support/golden.h"

namespace pawl::engine {
namespace {

constexpr int kPrompt = 80;
constexpr int64_t kTokens = 40;

using kernels::KvType;

class BatchInvariance : public testing::TestWithParam<std::tuple<const char*, double, KvType>> {
 protected:
  void SetUp() override {
    const std::string name = std::get<0>(GetParam());
    const auto path =
        name.starts_with("tiny/") ? tests::golden_path(name + ".gguf") : tests::model_path(name);
    if (!path) GTEST_SKIP() << "missing: " << name << ".gguf";
    auto runtime = Runtime::open(*path, {.threads = 2, .kv_type = std::get<2>(GetParam())});
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    runtime_ = std::move(runtime).value();
    Recorder recorder;
    Digests digests;
    run_alone(*runtime_, subject(recorder), recorder, &digests);
    alone_ = recorder.ids;
    digests_ = digests.rows.at(1);
    ASSERT_EQ(digests_.size(), static_cast<size_t>(kTokens));
  }

  Request subject(Recorder& recorder) const {
    Request r = request_for(recorder, numbered_prompt(kPrompt, 0), kTokens);
    r.policy.temperature = std::get<1>(GetParam());
    return r;
  }
  Request other(Recorder& recorder, int salt) const {
    return request_for(recorder, numbered_prompt(30 + 17 * salt, salt), 30 + 5 * salt);
  }

  bool has_state() const { return runtime_->model()->config().state_floats > 0; }

  void start(const EngineLimits& limits) {
    observed_ = {};
    auto engine = Engine::create(*runtime_, limits, clock_, &observed_);
    ASSERT_TRUE(engine.ok());
    engine_ = std::move(engine).value();
  }
  int64_t submit_and_run(Request request) {
    const int64_t id = submit(std::move(request));
    engine_->run_until_idle();
    return id;
  }
  int64_t submit(Request request) {
    const auto id = engine_->submit(std::move(request));
    EXPECT_TRUE(id.ok());
    return *id;
  }
  void expect_as_alone(int64_t id, const Recorder& recorder) const {
    EXPECT_EQ(recorder.ids, alone_);
    EXPECT_EQ(observed_.rows.at(id), digests_);
    EXPECT_EQ(recorder.finishes, 1);
  }

  base::SteadyClock clock_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Engine> engine_;
  Digests observed_;
  std::vector<base::TokenId> alone_;
  Digests::Rows digests_;
};

TEST_P(BatchInvariance, InEveryChunking) {
  for (const int64_t tokens : {1, 7, 64, 256}) {
    start({.context = 512, .max_sequences = 1, .tokens_per_step = tokens});
    Recorder recorder;
    const int64_t id = submit(subject(recorder));
    engine_->run_until_idle();
    expect_as_alone(id, recorder);
  }
}

TEST_P(BatchInvariance, S052_BesideSevenOthers) {
  for (const int64_t beside : {0, 3, 256}) {
    start({.context = 512, .kv_positions = 4096, .tokens_beside_decode = beside});
    std::vector<Recorder> others(7);
    Recorder recorder;
    int64_t id = 0;
    for (int i = 0; i < 8; ++i) {
      if (i == 4) {
        for (int step = 0; step < 10; ++step) engine_->step();  // some decode already
        id = submit(subject(recorder));
      } else {
        submit(other(others[static_cast<size_t>(i > 4 ? i - 1 : i)], i));
      }
    }
    engine_->run_until_idle();
    expect_as_alone(id, recorder);
  }
}

TEST_P(BatchInvariance, WithDraftsThatAreRightAndWrong) {
  if (has_state()) {
    start({.context = 512});
    Recorder recorder;
    Request r = subject(recorder);
    r.draft_tokens = 1;
    const auto id = engine_->submit(std::move(r));
    ASSERT_FALSE(id.ok());  // a state cannot be taken back
    EXPECT_NE(id.error().message.find("have a state"), std::string::npos);
    return;
  }
  for (const int others : {0, 3}) {
    start({.context = 512, .kv_positions = 4096});
    std::vector<Recorder> recorders(static_cast<size_t>(others));
    for (int i = 0; i < others; ++i) {
      Request r = other(recorders[static_cast<size_t>(i)], i);
      r.draft_tokens = 4;
      submit(std::move(r));
    }
    Recorder recorder;
    Request r = subject(recorder);
    r.draft_tokens = 8;
    const int64_t id = submit(std::move(r));
    engine_->run_until_idle();
    expect_as_alone(id, recorder);
  }
}

TEST_P(BatchInvariance, PreemptedAndComputedAgain) {
  for (const bool has_cache : {false, true}) {
    start({.context = 256, .prefix_cache = has_cache});  // 8 blocks
    std::vector<Recorder> others(2);
    Recorder recorder;
    for (int i = 0; i < 2; ++i) {
      Request r = request_for(others[static_cast<size_t>(i)], numbered_prompt(20, 20 + i), 200);
      r.priority = -1;
      submit(std::move(r));
    }
    for (int step = 0; step < 10; ++step) engine_->step();
    const int64_t id = submit(subject(recorder));
    engine_->run_until_idle();
    EXPECT_GT(recorder.finished.usage.preemptions, 0);
    EXPECT_GT(recorder.finished.usage.computed_tokens, kPrompt + kTokens);
    expect_as_alone(id, recorder);
  }
}

TEST_P(BatchInvariance, S015_WithAPrefixThatIsThere) {
  start({.context = 512});
  Recorder cold, longer, warm;
  expect_as_alone(submit_and_run(subject(cold)), cold);
  EXPECT_EQ(cold.finished.usage.cached_tokens, 0);
  // One that says the same for a while and then goes on.
  submit_and_run(request_for(longer, numbered_prompt(110, 0), 5));
  if (has_state()) {  // nothing is reused, and nothing is spoilt by who had the state before
    EXPECT_EQ(longer.finished.usage.cached_tokens, 0);
    expect_as_alone(submit_and_run(subject(warm)), warm);
    EXPECT_EQ(warm.finished.usage.cached_tokens, 0);
    return;
  }
  EXPECT_EQ(longer.finished.usage.cached_tokens, kPrompt);
  expect_as_alone(submit_and_run(subject(warm)), warm);
  EXPECT_EQ(warm.finished.usage.cached_tokens, kPrompt - 1);  // the last is computed for its row
  EXPECT_EQ(warm.finished.usage.computed_tokens, kTokens);
}

std::string name_of(const testing::TestParamInfo<BatchInvariance::ParamType>& model) {
  std::string name = std::get<0>(model.param);
  for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
  name += std::get<1>(model.param) == 0 ? "_greedy" : "_drawn";
  return name + (std::get<2>(model.param) == KvType::kQ8_0 ? "_q8_0" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Models, BatchInvariance,
    testing::Combine(testing::Values("tiny/gemma3", "tiny/llama-spm", "tiny/qwen2", "tiny/qwen3",
                                     "tiny/deepseek2-mla", "tiny/mamba2", "tiny/lfm2",
                                     "tiny/qwen3next", "gemma3-270m"),
                     testing::Values(0.0, 1.0), testing::Values(KvType::kF16)),
    name_of);
INSTANTIATE_TEST_SUITE_P(CodedCache, BatchInvariance,
                         testing::Combine(testing::Values("tiny/gemma3", "tiny/qwen2", "tiny/qwen3",
                                                          "tiny/deepseek2-mla", "tiny/lfm2"),
                                          testing::Values(1.0), testing::Values(KvType::kQ8_0)),
                         name_of);

}  // namespace
}  // namespace pawl::engine
