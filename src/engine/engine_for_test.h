// SPDX-License-Identifier: Apache-2.0
// For tests: sinks and observers that remember, requests over prompts of numbered ids, and the
// answer of a request that nobody disturbs.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/digest.h"
#include "engine/engine.h"
#include "support/golden.h"

namespace pawl::engine {

class Recorder final : public EventSink {
 public:
  void on_prompt_token(const PromptToken& token) override { prompt.push_back(token.logprob); }
  void on_delta(const Delta& delta) override {
    EXPECT_EQ(finishes, 0);
    ids.push_back(delta.id);
    text += delta.text;
    if (stop_after != 0 && ids.size() == stop_after) source.request_stop();
  }
  void on_finished(const Finished& f) override {
    finished = f;
    text += f.text;
    ++finishes;
  }

  std::vector<double> prompt;  // log-probabilities, from the second token on
  std::vector<base::TokenId> ids;
  std::string text;
  Finished finished;
  int finishes = 0;
  size_t stop_after = 0;
  std::stop_source source;
};

// The digest of every row that a token was chosen from, by request and length of the prefix.
class Digests final : public StepObserver {
 public:
  using Rows = std::map<int64_t, std::string>;

  void on_step(const StepRecord& record) override {
    for (const StepRow& row : record.rows) {
      if (row.choice == nullptr) continue;
      const int64_t length = row.first_position + static_cast<int64_t>(row.inputs.size());
      EXPECT_TRUE(
          rows[row.request].emplace(length, base::xxh3_128(std::as_bytes(row.logits))).second);
    }
  }

  std::map<int64_t, Rows> rows;
};

// A test on one of the small models; without it the test is skipped and says so.
class SmallModelTest : public testing::Test {
 protected:
  void open(const std::string& name, int threads) {
    const auto path = tests::golden_path("tiny/" + name + ".gguf");
    if (!path) GTEST_SKIP() << "missing: golden/tiny/" << name << ".gguf";
    auto runtime = Runtime::open(*path, {.threads = threads});
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    runtime_ = std::move(runtime).value();
  }

  std::unique_ptr<Engine> engine(const EngineLimits& limits, const base::Clock& clock) const {
    auto made = Engine::create(*runtime_, limits, clock);
    EXPECT_TRUE(made.ok());
    return std::move(made).value();
  }

  std::unique_ptr<Runtime> runtime_;
};

inline std::vector<base::TokenId> numbered_prompt(int length, int salt) {
  std::vector<base::TokenId> ids{2};
  for (int i = 1; i < length; ++i) ids.push_back(6 + (i * 37 + salt * 101) % 500);
  return ids;
}

// Draws at temperature 1 with a seed of its own.
inline Request request_for(Recorder& recorder, std::vector<base::TokenId> prompt,
                           int64_t max_tokens) {
  Request r;
  r.prompt = std::move(prompt);
  r.policy.ignore_eos = true;
  r.policy.seed = 7;
  r.stops.max_tokens = max_tokens;
  r.sink = &recorder;
  r.stop_token = recorder.source.get_token();
  return r;
}

// What the request gets from an engine of its own that reuses nothing.
inline void run_alone(Runtime& runtime, Request request, Recorder& recorder,
                      Digests* digests = nullptr) {
  const base::SteadyClock clock;
  request.sink = &recorder;
  request.stop_token = {};
  auto engine = Engine::create(runtime, {.context = 512, .max_sequences = 1, .prefix_cache = false},
                               clock, digests);
  ASSERT_TRUE(engine.ok());
  ASSERT_TRUE((*engine)->submit(std::move(request)).ok());
  (*engine)->run_until_idle();
  ASSERT_EQ(recorder.finishes, 1);
}

}  // namespace pawl::engine
