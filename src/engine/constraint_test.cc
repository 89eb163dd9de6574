// SPDX-License-Identifier: Apache-2.0
// What the step does with a constraint: masks before choices, choices told, errors and ends.
#include "engine/engine_for_test.h"
#include "support/golden.h"

namespace pawl::engine {
namespace {

using base::TokenId;

// At place i only script[i] and, at the end of the script, the end ids.
class Script final : public policy::Constraint {
 public:
  Script(std::vector<TokenId> script, std::vector<TokenId> end_ids)
      : script_(std::move(script)), end_ids_(std::move(end_ids)) {}

  base::Result<void> fill_mask(policy::TokenMask& mask) override {
    if (accepted.size() == fails_at) {
      return base::Error{base::ErrorCode::kUnsupported, "the script is torn", ""};
    }
    mask.fill(false);
    if (accepted.size() < script_.size()) {
      mask.allow(script_[accepted.size()]);
    } else {
      for (const TokenId id : end_ids_) mask.allow(id);
    }
    return {};
  }
  base::Result<void> accept(TokenId id) override {
    accepted.push_back(id);
    return {};
  }
  std::vector<TokenId> forced() override {
    if (!forces || accepted.size() >= script_.size()) return {};
    return {script_.begin() + static_cast<std::ptrdiff_t>(accepted.size()), script_.end()};
  }
  void rollback(int32_t) override { FAIL() << "nothing was to be taken back"; }
  bool is_complete() const override { return accepted.size() >= script_.size(); }

  std::vector<TokenId> accepted;
  size_t fails_at = SIZE_MAX;
  bool forces = false;  // says so where there is one way on

 private:
  std::vector<TokenId> script_, end_ids_;
};

// Allows everything, and takes one id back once it was chosen.
class Reluctant final : public policy::Constraint {
 public:
  explicit Reluctant(TokenId refused) : refused_(refused) {}
  base::Result<void> fill_mask(policy::TokenMask& mask) override {
    mask.fill(true);
    return {};
  }
  bool permits(TokenId id, policy::TokenMask& mask) override {
    if (id != refused_) return true;
    mask.forbid(id);
    ++refusals;
    return false;
  }
  base::Result<void> accept(TokenId) override { return {}; }
  void rollback(int32_t) override {}
  bool is_complete() const override { return false; }

  int refusals = 0;

 private:
  TokenId refused_;
};

class ConstraintTest : public SmallModelTest {
 protected:
  void SetUp() override {
    open("gemma3", 2);
    if (runtime_ == nullptr) return;
    const auto ids = runtime_->tokenizer().vocab().end_ids();
    end_ids_.assign(ids.begin(), ids.end());
    ASSERT_FALSE(end_ids_.empty());
  }

  // Beside two that have none.
  Recorder run(const std::shared_ptr<Script>& script, bool ignore_eos = false) {
    auto made = Engine::create(*runtime_, {.context = 128, .kv_positions = 512}, clock_);
    Recorder recorder, before, after;
    EXPECT_TRUE((*made)->submit(request_for(before, numbered_prompt(30, 1), 20)).ok());
    Request r = request_for(recorder, numbered_prompt(20, 0), 20);
    r.policy.ignore_eos = ignore_eos;
    r.constraint = script;
    EXPECT_TRUE((*made)->submit(std::move(r)).ok());
    EXPECT_TRUE((*made)->submit(request_for(after, numbered_prompt(30, 1), 20)).ok());
    (*made)->run_until_idle();
    EXPECT_EQ(before.ids.size(), 20u);
    EXPECT_EQ(after.ids, before.ids);
    EXPECT_EQ(recorder.finishes, 1);
    return recorder;
  }

  base::SteadyClock clock_;
  std::vector<TokenId> end_ids_;
};

TEST_F(ConstraintTest, OnlyWhatTheMaskAllowsIsChosenAndTheConstraintHearsOfIt) {
  const auto script =
      std::make_shared<Script>(std::vector<TokenId>{400, 17, 300, 300, 6}, end_ids_);
  const Recorder recorder = run(script);
  ASSERT_EQ(recorder.ids.size(), 6u);
  EXPECT_TRUE(std::equal(recorder.ids.begin(), recorder.ids.end() - 1,
                         std::vector<TokenId>{400, 17, 300, 300, 6}.begin()));
  EXPECT_EQ(script->accepted, recorder.ids);
  EXPECT_EQ(recorder.finished.reason, FinishReason::kStop);
  EXPECT_EQ(recorder.finished.end_token, recorder.ids.back());
}

TEST_F(ConstraintTest, AChoiceThatIsTakenBackIsMadeAnew) {
  const auto first_of = [this](std::shared_ptr<policy::Constraint> constraint, TokenId banned) {
    auto made = Engine::create(*runtime_, {.context = 128, .kv_positions = 512}, clock_);
    Recorder recorder;
    Request request = request_for(recorder, numbered_prompt(20, 0), 1);
    request.policy.temperature = 0;
    if (banned >= 0) request.policy.banned = {banned};
    request.constraint = std::move(constraint);
    EXPECT_TRUE((*made)->submit(std::move(request)).ok());
    (*made)->run_until_idle();
    EXPECT_EQ(recorder.ids.size(), 1u);
    return recorder.ids.front();
  };
  const TokenId wanted = first_of(nullptr, -1);
  const auto reluctant = std::make_shared<Reluctant>(wanted);
  EXPECT_EQ(first_of(reluctant, -1), first_of(nullptr, wanted));
  EXPECT_EQ(reluctant->refusals, 1);
}

TEST_F(ConstraintTest, TheOnlyWayOnIsComputedAtOnceAndGivesTheSameAnswer) {
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < 18; ++id) ids.push_back(300 + 7 * id % 50);
  const Recorder plain = run(std::make_shared<Script>(ids, end_ids_));
  const auto script = std::make_shared<Script>(ids, end_ids_);
  script->forces = true;
  const Recorder forced = run(script);
  EXPECT_EQ(forced.ids, plain.ids);
  EXPECT_EQ(forced.text, plain.text);
  EXPECT_EQ(script->accepted, plain.ids);
  EXPECT_EQ(forced.finished.usage.completion_tokens, plain.finished.usage.completion_tokens);
  EXPECT_EQ(forced.finished.usage.computed_tokens, plain.finished.usage.computed_tokens);
  EXPECT_EQ(forced.finished.usage.forced_tokens, 17);
  EXPECT_EQ(plain.finished.usage.forced_tokens, 0);
  // The prompt, all that was forced, and the end.
  EXPECT_LE(forced.finished.usage.forward_passes, plain.finished.usage.forward_passes - 17);
}

TEST_F(ConstraintTest, WhatIsForcedEndsWhereMaxTokensDoes) {
  std::vector<TokenId> ids(40, 300);
  const auto script = std::make_shared<Script>(ids, end_ids_);
  script->forces = true;
  const Recorder recorder = run(script);  // 20 tokens
  EXPECT_EQ(recorder.ids.size(), 20u);
  EXPECT_EQ(recorder.finished.reason, FinishReason::kLength);
}

TEST_F(ConstraintTest, AWholeAnswerThatNothingCanFollowIsAStop) {
  const Recorder recorder =
      run(std::make_shared<Script>(std::vector<TokenId>{400, 17}, end_ids_), true);
  EXPECT_EQ(recorder.ids, (std::vector<TokenId>{400, 17}));
  EXPECT_EQ(recorder.finished.reason, FinishReason::kStop);
  EXPECT_TRUE(recorder.finished.error.empty());
}

TEST_F(ConstraintTest, ItsErrorEndsItsRequestAndNoOther) {
  const auto script = std::make_shared<Script>(std::vector<TokenId>{400, 17, 9}, end_ids_);
  script->fails_at = 2;
  const Recorder recorder = run(script);
  EXPECT_EQ(recorder.ids, (std::vector<TokenId>{400, 17}));
  EXPECT_EQ(recorder.finished.reason, FinishReason::kError);
  EXPECT_EQ(recorder.finished.error, "the script is torn");
}

}  // namespace
}  // namespace pawl::engine
