// SPDX-License-Identifier: Apache-2.0
// Logits of small models against an independent implementation that rounds nothing, and against
// themselves: the same bits for every cut into chunks, thread count and kernel variant.
#include <gtest/gtest.h>

#include "kernels/kernels.h"
#include "model/session_for_test.h"
#include "support/golden.h"
#include "support/logits.h"

namespace pawl::model {
namespace {

using base::TokenId;

const char* const kTiny[] = {"llama-untied",
                             "llama-tied",
                             "llama-spm",
                             "llama-mistral",
                             "llama-ropefreqs",
                             "llama-ropelinear",
                             "llama-yarn",
                             "qwen2",
                             "qwen2-untied",
                             "qwen3",
                             "seed_oss",
                             "gemma",
                             "gemma2",
                             "gemma3",
                             "gemma3-ropelinear",
                             "phi3",
                             "phi3-longrope",
                             "internlm2",
                             "ernie4_5",
                             "smollm3",
                             "glm4",
                             "exaone4",
                             "granite",
                             "minicpm",
                             "olmo",
                             "olmo2",
                             "olmo3",
                             "command-r",
                             "cohere2",
                             "stablelm",
                             "stablelm-parallel",
                             "starcoder2",
                             "gpt2",
                             "gptneox",
                             "gptneox-serial",
                             "phi2",
                             "falcon",
                             "falcon-40b",
                             "bloom",
                             "mpt",
                             "nemotron",
                             "llama-moe",
                             "qwen2moe",
                             "qwen3moe",
                             "olmoe",
                             "granitemoe",
                             "glm4moe",
                             "gpt-oss",
                             "deepseek2-mla",
                             "deepseek2-kvb",
                             "mamba",
                             "mamba2",
                             "lfm2",
                             "lfm2moe",
                             "qwen3next",
                             "qwen35"};

int argmax(std::span<const float> row) {
  return static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
}

class TinyModel : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string name = GetParam();
    const auto gguf = tests::golden_path("tiny/" + name + ".gguf");
    const auto json = tests::golden_path("tiny/" + name + ".json");
    const auto npy = tests::golden_path("tiny/" + name + ".logits.npy");
    if (!gguf || !json || !npy)
      GTEST_SKIP() << "missing: golden/tiny/" << name << ".{gguf,json,logits.npy}";
    path_ = *gguf;
    expected_ = tests::read_npy(*npy);
    info_ = tests::read_json(*json);
    for (const auto& s : info_["sequences"]) sequences_.push_back(s.get<std::vector<TokenId>>());
  }

  std::vector<float> all_rows(TestSession& session, int chunk) {
    std::vector<float> rows;
    for (size_t i = 0; i < 3; ++i) {
      session.restart();
      const int wanted = i == 2 ? 1 : static_cast<int>(sequences_[i].size());
      const auto part = session.append(sequences_[i], chunk, wanted);
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }

  std::string path_;
  tests::Npy expected_;
  nlohmann::json info_;
  std::vector<std::vector<TokenId>> sequences_;
};

// Tolerance: the oracle against itself, batch or single tokens, differs by up to 6e-5; float32 sums
// in another order stay well below 1e-3.
TEST_P(TinyModel, ReferenceLogitsAreTheExactOnes) {
  TestSession session(path_, best(), 2, Precision::kReference);
  const std::vector<float> rows = all_rows(session, 512);
  ASSERT_EQ(rows.size(), expected_.data.size());
  const double worst = tests::largest_difference(rows, expected_.data);
  RecordProperty("max_abs_diff", std::to_string(worst));
  EXPECT_LE(worst, 1e-3);
}

TEST_P(TinyModel, ReferenceGreedyIdsAreTheExactOnes) {
  TestSession session(path_, best(), 1, Precision::kReference);
  std::vector<float> row = session.append(sequences_[1], 512, 1);
  const auto ids = info_["greedy"]["ids"].get<std::vector<TokenId>>();
  for (size_t i = 0; i < ids.size(); ++i) {
    ASSERT_EQ(argmax(row), ids[i]) << "token " << i;  // no gap of the two largest is below 0.05
    row = session.append({&ids[i], 1}, 1, 1);
  }
}

TEST_P(TinyModel, SameBitsForEveryChunkThreadCountAndVariant) {
  for (const Precision precision : {Precision::kFast, Precision::kReference}) {
    expect_same_bits(
        {1, 2, 3}, {1, 7, 64, 512},
        [&](const kernels::Table& table, int threads) {
          return TestSession(path_, table, threads, precision);
        },
        [&](TestSession& session, int chunk) { return all_rows(session, chunk); });
  }
}

// Neighbours in a batch change no bit.
TEST_P(TinyModel, SameBitsBesideOtherSequences) {
  TestSession alone(path_, best(), 2, Precision::kFast);
  TestSession both(path_, best(), 2, Precision::kFast, 256);
  expect_same_bits_beside(alone, both, sequences_[1], sequences_[2]);
}

// Of each feature that could be left out, the model that shows it is among these.
TEST(TinyModels, AreAllThatTheListOfFeaturesNames) {
  const auto json = tests::golden_path("tiny/sensitivity.json");
  if (!json) GTEST_SKIP() << "missing: golden/tiny/sensitivity.json";
  const nlohmann::json features = tests::read_json(*json);
  ASSERT_EQ(features.size(), 73u);
  for (const auto& feature : features) {
    const auto name = feature["model"].get<std::string>();
    EXPECT_NE(std::find(std::begin(kTiny), std::end(kTiny), name), std::end(kTiny)) << feature;
  }
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(*json).parent_path())) {
    if (file.path().extension() != ".gguf") continue;
    EXPECT_NE(std::find(std::begin(kTiny), std::end(kTiny), file.path().stem().string()),
              std::end(kTiny))
        << file.path();
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, TinyModel, testing::ValuesIn(kTiny), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace pawl::model
