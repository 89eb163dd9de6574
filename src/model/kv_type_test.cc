// SPDX-License-Identifier: Apache-2.0
// Keys and values in 8-bit codes, or values alone: the same bits for every cut, thread count,
// variant and neighbour, and what they cost beside 16 bits, against exact logits.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/kernels.h"
#include "model/session_for_test.h"
#include "support/golden.h"
#include "support/logits.h"

namespace pawl::model {
namespace {

using base::TokenId;
using kernels::KvType;

// One of each way to attend: whole, windows with soft caps, sinks, latent, and none but some
// layers.
class CodedCache : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string name = GetParam();
    const auto gguf = tests::golden_path("tiny/" + name + ".gguf");
    const auto json = tests::golden_path("tiny/" + name + ".json");
    const auto npy = tests::golden_path("tiny/" + name + ".logits.npy");
    if (!gguf || !json || !npy)
      GTEST_SKIP() << "missing: golden/tiny/" << name << ".{gguf,json,logits.npy}";
    path_ = *gguf;
    const nlohmann::json info = tests::read_json(*json);
    for (const auto& s : info["sequences"]) sequences_.push_back(s.get<std::vector<TokenId>>());
    exact_ = tests::read_npy(*npy);
  }

  std::string path_;
  std::vector<std::vector<TokenId>> sequences_;
  tests::Npy exact_;
};

TEST_P(CodedCache, SameBitsForEveryChunkThreadCountAndVariant) {
  for (const KvType type : {KvType::kQ8_0, KvType::kF16Q8_0}) {
    SCOPED_TRACE(kernels::kv_type_name(type));
    expect_same_bits(
        {1, 2}, {1, 7, 64},
        [&](const kernels::Table& table, int threads) {
          return TestSession(path_, table, threads, Precision::kFast, 256, 512, 128, type);
        },
        [&](TestSession& session, int chunk) {
          session.restart();
          return session.append(sequences_[2], chunk, 4);
        });
  }
}

TEST_P(CodedCache, SameBitsBesideOtherSequences) {
  for (const KvType type : {KvType::kQ8_0, KvType::kF16Q8_0}) {
    TestSession alone(path_, best(), 2, Precision::kFast, 256, 512, 128, type);
    TestSession both(path_, best(), 2, Precision::kFast, 256, 512, 128, type);
    expect_same_bits_beside(alone, both, sequences_[1], sequences_[2]);
  }
}

// Codes of 8 bits cost these random models less than a thousandth; none at all would mean that they
// are not there. The median: where experts are few, a row may be given another one, which moves it
// by much whatever the reason was.
TEST_P(CodedCache, CostsLittleAgainstTheExactLogits) {
  const auto cost = [&](KvType type) {
    TestSession one(path_, best(), 2, Precision::kFast, 256, 512, 128, type);
    std::vector<double> kl;
    for (size_t i = 0; i < 2; ++i) {
      one.restart();
      const int n = static_cast<int>(sequences_[i].size());
      const std::vector<float> rows = one.append(sequences_[i], 512, n);
      for (int r = 0; r < n; ++r) {
        const auto v = static_cast<size_t>(exact_.cols);
        kl.push_back(tests::divergence({exact_.row(static_cast<int64_t>(kl.size())), v},
                                       std::span(rows).subspan(static_cast<size_t>(r) * v, v)));
      }
    }
    std::ranges::nth_element(kl, kl.begin() + static_cast<std::ptrdiff_t>(kl.size() / 2));
    return kl[kl.size() / 2];
  };
  TestSession session(path_, best(), 1, Precision::kFast);
  const KvType type = session.model().kv_type_for(KvType::kQ8_0);
  const double half = cost(KvType::kF16), values = cost(KvType::kF16Q8_0),
               both = cost(KvType::kQ8_0), coded = type == KvType::kQ8_0 ? both : values;
  std::printf("%-14s median KL(exact || fast): %.1e with f16, %.1e with f16+q8_0, %.1e with q8_0\n",
              GetParam(), half, values, both);
  EXPECT_GT(values, half);
  EXPECT_GE(coded, values);
  EXPECT_LE(coded, half + 2e-3);
}

// Which keys stay as they are is a matter of biases alone.
TEST_P(CodedCache, KeepsKeysWholeWhereTheyHaveBiases) {
  TestSession session(path_, best(), 1, Precision::kFast);
  const Model& model = session.model();
  const bool has_biases = !model.weights().layers.back().k_bias.empty();
  EXPECT_EQ(model.kv_type_for(KvType::kQ8_0), has_biases ? KvType::kF16Q8_0 : KvType::kQ8_0);
  for (const KvType type : {KvType::kF16, KvType::kF32, KvType::kF16Q8_0})
    EXPECT_EQ(model.kv_type_for(type), type);
}

INSTANTIATE_TEST_SUITE_P(Golden, CodedCache,
                         testing::Values("llama-untied", "qwen3", "gemma3", "gpt-oss",
                                         "deepseek2-mla", "lfm2moe", "mpt"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(CodedCacheSize, IsAlittleMoreThanAByteForEachEntry) {
  const auto path = tests::golden_path("tiny/llama-untied.gguf");
  if (!path) GTEST_SKIP() << "missing: golden/tiny/llama-untied.gguf";
  TestSession session(*path, best(), 1, Precision::kFast);
  const Model& model = session.model();
  const auto bytes = [&](KvType type) { return model.kv_layout(type).position_bytes(); };
  EXPECT_EQ(bytes(KvType::kF32), 2 * bytes(KvType::kF16));
  // 34 bytes in place of 64 where a head is a multiple of 32, else a scale for fewer.
  const int head = model.config().head_dim;
  EXPECT_EQ(bytes(KvType::kQ8_0),
            bytes(KvType::kF16) / (2 * head) * (head + 2 * ((head + 31) / 32)));
  EXPECT_EQ(2 * bytes(KvType::kF16Q8_0), bytes(KvType::kF16) + bytes(KvType::kQ8_0));
}

}  // namespace
}  // namespace pawl::model
