// SPDX-License-Identifier: Apache-2.0
// One small model in every tensor type: logits of the reference mode against the exact ones, of the
// fast mode within the divergence written beside the type, and the same bits for every variant,
// thread count and chunk.
#include <gtest/gtest.h>

#include "kernels/kernels.h"
#include "model/session_for_test.h"
#include "support/golden.h"
#include "support/logits.h"

namespace pawl::model {
namespace {

using base::TokenId;

struct TypeCase {
  const char* file;
  // Fast mode: mean KL(exact || pawl) over both sequences, in nats. Types with planes take 8-bit
  // activations, which cost this random model a few thousandths; all others take float activations
  // and differ by the f16 cache only.
  double max_kl;
};

constexpr double kEightBit = 0.01, kFloat = 1e-5;

constexpr TypeCase kTypes[] = {
    {"f16", kFloat},          {"bf16", kFloat},      {"q4_0", kEightBit},   {"q4_1", kEightBit},
    {"q5_0", kEightBit},      {"q5_1", kEightBit},   {"q8_0", kEightBit},   {"q2_k", kEightBit},
    {"q3_k_s", kEightBit},    {"q4_k_s", kEightBit}, {"q4_k_m", kEightBit}, {"q5_k_s", kEightBit},
    {"q6_k", kEightBit},      {"iq4_nl", kEightBit}, {"iq4_xs", kEightBit}, {"iq1_s", kFloat},
    {"iq1_m", kFloat},        {"iq2_xxs", kFloat},   {"iq2_xs", kFloat},    {"iq2_m", kFloat},
    {"iq3_xxs", kFloat},      {"iq3_s", kFloat},     {"tq1_0", kFloat},     {"tq2_0", kFloat},
    {"mxfp4_moe", kEightBit},
};

class Quantised : public testing::TestWithParam<TypeCase> {
 protected:
  void SetUp() override {
    const std::string name = std::string("llama-") + GetParam().file + ".gguf";
    const auto gguf = tests::golden_path("quants/" + name);
    const auto json = tests::golden_path("quants/quants.json");
    const auto npy = tests::golden_path("quants/logits.npy");
    if (!gguf || !json || !npy)
      GTEST_SKIP() << "missing: golden/quants/{" << name << ",quants.json,logits.npy}";
    path_ = *gguf;
    const nlohmann::json info = tests::read_json(*json);
    const tests::Npy logits = tests::read_npy(*npy);
    for (const auto& s : info["sequences"]) sequences_.push_back(s.get<std::vector<TokenId>>());
    for (const auto& f : info["files"]) {
      if (f["file"] != name) continue;
      const int64_t row = f["row_of_first_sequence"].get<int64_t>();
      expected_.assign(logits.row(row), logits.row(row + 2));
    }
    ASSERT_FALSE(expected_.empty());
  }

  std::vector<float> last_rows(TestSession& session, int chunk) {
    std::vector<float> rows;
    for (const auto& ids : sequences_) {
      session.restart();
      const auto row = session.append(ids, chunk, 1);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    return rows;
  }

  std::string path_;
  std::vector<std::vector<TokenId>> sequences_;
  std::vector<float> expected_;  // [2 sequences][vocabulary]
};

TEST_P(Quantised, LogitsAreExactInReferenceAndCloseInFastMode) {
  TestSession exact(path_, best(), 2, Precision::kReference),
      fast(path_, best(), 2, Precision::kFast);
  const std::vector<float> reference = last_rows(exact, 512), quick = last_rows(fast, 512);
  ASSERT_EQ(reference.size(), expected_.size());
  const double worst = tests::largest_difference(reference, expected_);
  const size_t v = reference.size() / 2;
  double kl = 0;
  for (size_t i = 0; i < 2; ++i) {
    kl += tests::divergence(std::span(expected_).subspan(i * v, v),
                            std::span(quick).subspan(i * v, v)) /
          2;
  }
  std::printf("%-10s max |logit - exact| %.1e, KL(exact || fast) %.1e\n", GetParam().file, worst,
              kl);
  EXPECT_LE(worst, 1e-3);
  EXPECT_LE(kl, GetParam().max_kl);
}

TEST_P(Quantised, SameBitsForEveryVariantThreadCountAndChunk) {
  expect_same_bits(
      {1, 2}, {1, 7, 64},
      [&](const kernels::Table& table, int threads) {
        return TestSession(path_, table, threads, Precision::kFast);
      },
      [&](TestSession& session, int chunk) { return last_rows(session, chunk); });
}

INSTANTIATE_TEST_SUITE_P(Golden, Quantised, testing::ValuesIn(kTypes),
                         [](const auto& test) { return std::string(test.param.file); });

}  // namespace
}  // namespace pawl::model
