// SPDX-License-Identifier: Apache-2.0
// Two real models against the exact reference data: every kept logit, the greedy ids, and how far
// the fast mode is from the exact one, beside the same figure of llama.cpp's fast mode from the
// same file.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernels.h"
#include "model/session_for_test.h"
#include "support/golden.h"
#include "support/logits.h"

namespace pawl::model {
namespace {

using base::TokenId;

struct Prompt {
  std::string name;
  std::vector<TokenId> ids;  // prompt and the greedy continuation but for its last token
  std::vector<TokenId> greedy;
  std::vector<double> gaps;
  nlohmann::json positions;
};

class RealModel : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string name = GetParam();
    const auto model = tests::model_path(name);
    const auto golden = tests::golden_path("real-models/" + name + ".json");
    if (!model) GTEST_SKIP() << "missing: $PAWL_HOME/models/" << name << ".gguf";
    if (!golden) GTEST_SKIP() << "missing: golden/real-models/" << name << ".json";
    path_ = *model;
    const nlohmann::json data = tests::read_json(*golden);
    for (const auto& p : data["prompts"]) {
      Prompt prompt;
      prompt.ids = p["prompt_ids"].get<std::vector<TokenId>>();
      prompt.greedy = p["greedy_ids"].get<std::vector<TokenId>>();
      prompt.gaps = p["top2_gap"].get<std::vector<double>>();
      prompt.positions = p["positions"];
      prompt.ids.insert(prompt.ids.end(), prompt.greedy.begin(), prompt.greedy.end() - 1);
      prompts_.push_back(std::move(prompt));
    }
  }

  // Logits from which each greedy token is chosen, [48][vocabulary].
  static std::vector<float> rows(TestSession& session, const Prompt& prompt) {
    session.restart();
    return session.append(prompt.ids, 512, static_cast<int>(prompt.greedy.size()));
  }

  std::string path_;
  std::vector<Prompt> prompts_;
};

TEST_P(RealModel, ReferenceMatchesAndFastIsNoFurtherFromExactThanLlamaCpp) {
  const kernels::Table& table = *kernels::choose_table("").value();
  const int threads = base::TaskPool::available_cpus();
  TestSession exact(path_, table, threads, Precision::kReference, 1024, 512, 64);
  TestSession fast(path_, table, threads, Precision::kFast, 1024, 512, 64);
  const kernels::KvType kv = fast.model().kv_type_for(kernels::KvType::kQ8_0);
  TestSession coded(path_, table, threads, Precision::kFast, 1024, 512, 64, kv);
  const size_t vocabulary = static_cast<size_t>(exact.model().config().vocabulary);
  double worst = 0, kl = 0, kl_llama = 0, worst_kl = 0, kl_coded = 0;
  int kept = 0, same_argmax = 0, steps = 0;
  for (const Prompt& prompt : prompts_) {
    const std::vector<float> reference = rows(exact, prompt), quick = rows(fast, prompt),
                             with_codes = rows(coded, prompt);
    const auto row = [&](const std::vector<float>& all, size_t i) {
      return std::span<const float>(all).subspan(i * vocabulary, vocabulary);
    };
    bool is_before_tie = true;
    for (size_t i = 0; i < prompt.greedy.size(); ++i) {
      is_before_tie &= prompt.gaps[i] >= 0.05;
      const auto r = row(reference, i), q = row(quick, i);
      const auto best = static_cast<TokenId>(std::max_element(r.begin(), r.end()) - r.begin());
      if (is_before_tie) {
        EXPECT_EQ(best, prompt.greedy[i])
            << "prompt of " << prompt.ids.size() << " ids, token " << i;
      }
      same_argmax += std::max_element(q.begin(), q.end()) - q.begin() == best;
      ++steps;
    }
    for (const auto& position : prompt.positions) {
      const size_t i = position["after_tokens"].get<size_t>();
      const auto r = row(reference, i);
      for (const auto& entry : position["exact"]["top"]) {
        const double expected = entry[1].get<double>();
        worst =
            std::max(worst, std::abs(static_cast<double>(r[entry[0].get<size_t>()]) - expected));
      }
      EXPECT_NEAR(tests::log_sum_exp(r), position["exact"]["logsumexp"].get<double>(), 1e-3);
      const double here = tests::divergence(r, row(quick, i));
      kl += here;
      kl_coded += tests::divergence(r, row(with_codes, i));
      worst_kl = std::max(worst_kl, here);
      kl_llama += position["kl_exact_fast"].get<double>();
      ++kept;
    }
  }
  std::printf(
      "%s: max |logit - exact| %.2e; mean KL(exact || pawl) %.3e (max %.2e), with %s keys and "
      "values %.3e, llama.cpp %.3e, at %d positions; same arg max %d of %d\n",
      GetParam(), worst, kl / kept, worst_kl, std::string(kernels::kv_type_name(kv)).c_str(),
      kl_coded / kept, kl_llama / kept, kept, same_argmax, steps);
  EXPECT_LE(worst, 1e-3);
  EXPECT_LE(kl / kept, kl_llama / kept);
  EXPECT_LE(kl_coded / kept, 2 * kl / kept + 1e-3);
}

// Rotations, windows, chunks and threads at the size of a real model: a prompt longer than the
// window of 512.
TEST_P(RealModel, SameBitsForChunksAndThreads) {
  const kernels::Table& table = *kernels::choose_table("").value();
  const Prompt& prompt = *std::max_element(
      prompts_.begin(), prompts_.end(),
      [](const Prompt& a, const Prompt& b) { return a.ids.size() < b.ids.size(); });
  std::vector<float> first;
  for (const int threads : {2, 1}) {
    TestSession session(path_, table, threads, Precision::kFast, 1024, 512, 4);
    for (const int chunk : {512, 64, 7, 1}) {
      session.restart();
      const std::vector<float> rows = session.append(prompt.ids, chunk, 4);
      if (first.empty()) first = rows;
      ASSERT_EQ(0, std::memcmp(first.data(), rows.data(), rows.size() * sizeof(float)))
          << threads << " threads, chunks of " << chunk;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, RealModel, testing::Values("gemma3-270m", "qwen2.5-coder-0.5b"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace pawl::model
