// SPDX-License-Identifier: Apache-2.0
// A greedy answer whose tokens are found without their rows is the one that is chosen from rows.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

#include "engine/engine_for_test.h"
#include "model/quantize_file.h"

namespace pawl::engine {
namespace {

namespace fs = std::filesystem;

// A small model whose output matrix is of 8 bits.
class Greedy : public testing::Test {
 protected:
  void SetUp() override {
    const auto source = tests::golden_path("tiny/gemma3.gguf");
    ASSERT_TRUE(source.has_value());
    path_ = fs::temp_directory_path() / ("pawl-greedy-" + std::to_string(::getpid()) + ".gguf");
    const auto file = gguf::open(*source).value();
    const model::QuantizeType& type = *model::find_quantize_type("q8_0");
    const auto plan = model::plan_quantization(*file, type, true).value();
    base::TaskPool pool(2);
    ASSERT_TRUE(model::write_quantized(*file, plan, type, path_, pool, {}).ok());
    auto runtime = Runtime::open(path_, {.threads = 2});
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    runtime_ = std::move(runtime).value();
    // Where unpacking binds, rows are computed as ever.
    finds_ = runtime_->kernels().splits_well;
  }
  void TearDown() override { fs::remove(path_); }

  static Request greedy(Recorder& recorder, int salt) {
    Request request = request_for(recorder, numbered_prompt(9, salt), 60);
    request.policy.temperature = 0;
    return request;
  }

  std::string path_;
  std::unique_ptr<Runtime> runtime_;
  bool finds_ = false;
  const base::SteadyClock clock_;
};

TEST_F(Greedy, AnswersAreThoseChosenFromRows) {
  for (int salt = 0; salt < 4; ++salt) {
    Recorder from_rows, found;
    Digests digests;  // who observes gets rows
    run_alone(*runtime_, greedy(from_rows, salt), from_rows, &digests);
    auto engine = Engine::create(*runtime_, {.context = 512, .max_sequences = 1}, clock_).value();
    ASSERT_TRUE(engine->submit(greedy(found, salt)).ok());
    engine->run_until_idle();
    EXPECT_EQ(found.ids, from_rows.ids);
    EXPECT_EQ(found.ids.size(), 60u);
    const model::LargestCounts counts = engine->stats().largest;
    EXPECT_EQ(counts.found + counts.fell_back + counts.not_tried, finds_ ? 60 : 0);
    EXPECT_EQ(counts.found > 0, finds_);
  }
}

TEST_F(Greedy, SeveralTogetherAreEachAsAlone) {
  std::vector<std::unique_ptr<Recorder>> alone, together;
  auto engine = Engine::create(*runtime_, {.context = 512, .kv_positions = 2048}, clock_).value();
  for (int salt = 0; salt < 4; ++salt) {
    alone.push_back(std::make_unique<Recorder>());
    together.push_back(std::make_unique<Recorder>());
    run_alone(*runtime_, greedy(*alone.back(), salt), *alone.back());
    ASSERT_TRUE(engine->submit(greedy(*together.back(), salt)).ok());
  }
  engine->run_until_idle();
  for (size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(together[i]->ids, alone[i]->ids);
  EXPECT_EQ(engine->stats().largest.found > 60, finds_);
}

// Alone, then beside another, which takes rows, then alone again.
TEST_F(Greedy, NeighboursThatComeAndGoChangeNothing) {
  Recorder alone, first, second;
  run_alone(*runtime_, greedy(alone, 1), alone);
  auto engine = Engine::create(*runtime_, {.context = 512, .max_sequences = 2}, clock_).value();
  ASSERT_TRUE(engine->submit(greedy(first, 1)).ok());
  for (int i = 0; i < 10; ++i) engine->step();
  const int64_t before = engine->stats().largest.found;
  Request other = request_for(second, numbered_prompt(12, 3), 15);
  ASSERT_TRUE(engine->submit(std::move(other)).ok());
  engine->run_until_idle();
  EXPECT_EQ(first.ids, alone.ids);
  EXPECT_EQ(before > 0, finds_);
  EXPECT_EQ(engine->stats().largest.found > before, finds_);
  EXPECT_LT(engine->stats().largest.found + engine->stats().largest.fell_back, 60);
}

TEST_F(Greedy, LogprobsBiasAndPenaltiesAreOfTheWholeRow) {
  for (int knob = 0; knob < 3; ++knob) {
    Recorder recorder;
    Request request = greedy(recorder, 2);
    if (knob == 0) request.policy.logprobs = true;
    if (knob == 1) request.policy.logit_bias = {{5, 1.0}};
    if (knob == 2) request.policy.repetition_penalty = 1.2;
    auto engine = Engine::create(*runtime_, {.context = 512, .max_sequences = 1}, clock_).value();
    ASSERT_TRUE(engine->submit(std::move(request)).ok());
    engine->run_until_idle();
    EXPECT_EQ(recorder.ids.size(), 60u);
    EXPECT_EQ(engine->stats().largest.found + engine->stats().largest.fell_back, 0);
  }
}

}  // namespace
}  // namespace pawl::engine
