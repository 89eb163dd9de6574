// SPDX-License-Identifier: Apache-2.0
// Vectors for texts against those of an independent implementation
// (tests/golden/embeddings/make_vectors.py), and the same bits for every cut and neighbour.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gguf/writer.h"
#include "kernels/kernels.h"
#include "model/session_for_test.h"
#include "support/golden.h"

namespace pawl::model {
namespace {

using base::TokenId;

// Only numbers go in; which ids a text has is the tokenizer's tests' matter.
struct Case {
  std::string model;
  Pooling pooling;
  bool is_normalised;
  std::vector<TokenId> ids;
  std::vector<float> vector;
};

std::vector<Case> cases() {
  const auto path = tests::golden_path("embeddings/vectors.json");
  std::vector<Case> cases;
  if (!path) return cases;
  const nlohmann::json document = tests::read_json(*path);
  for (const auto& entry : document["cases"]) {
    cases.push_back({entry["model"].get<std::string>(),
                     find_pooling(entry["pooling"].get<std::string>()).value(),
                     entry["normalised"].get<bool>(), entry["ids"].get<std::vector<TokenId>>(),
                     entry["vector"].get<std::vector<float>>()});
  }
  return cases;
}

TEST(Embedding, VectorsAreThoseOfTheReferenceProgram) {
  const std::vector<Case> all = cases();
  ASSERT_GE(all.size(), 48u);
  double worst = 0;
  for (const Case& c : all) {
    const auto path = tests::golden_path("tiny/" + c.model + ".gguf");
    ASSERT_TRUE(path.has_value()) << c.model;
    TestSession session(*path, best(), 2, Precision::kReference);
    std::vector<float> vector = session.embed(c.ids, 512, c.pooling);
    ASSERT_TRUE(
        finish_pooling(c.pooling, static_cast<int64_t>(c.ids.size()), c.is_normalised, vector));
    ASSERT_EQ(vector.size(), c.vector.size());
    // That program looks GELU up in a table of 16-bit floats.
    const bool has_gelu = c.model == "gemma3" || c.model == "gpt2";
    const double tolerance = has_gelu ? 2e-2 : 2e-4;
    for (size_t i = 0; i < vector.size(); ++i) {
      ASSERT_NEAR(vector[i], c.vector[i], tolerance)
          << c.model << ", " << pooling_name(c.pooling) << " at " << i;
      worst = std::max(worst,
                       std::abs(static_cast<double>(vector[i]) - static_cast<double>(c.vector[i])));
    }
  }
  std::printf("largest difference of %zu vectors: %.1e\n", all.size(), worst);
}

TEST(Embedding, SameBitsForEveryChunkThreadCountAndVariant) {
  for (const Case& c : cases()) {
    if (c.is_normalised) continue;
    SCOPED_TRACE(c.model + ", " + std::string(pooling_name(c.pooling)));
    const std::string path = *tests::golden_path("tiny/" + c.model + ".gguf");
    expect_same_bits(
        {1, 2}, {1, 3, 64},
        [&](const kernels::Table& table, int threads) {
          return TestSession(path, table, threads, Precision::kFast);
        },
        [&](TestSession& session, int chunk) { return session.embed(c.ids, chunk, c.pooling); });
  }
}

// Beside a sequence whose logits are wanted: both are what they are alone.
TEST(Embedding, ANeighbourThatGeneratesChangesNoBitAndIsNotChanged) {
  const auto path = tests::golden_path("tiny/qwen3.gguf");
  if (!path) GTEST_SKIP() << "missing: golden/tiny/qwen3.gguf";
  const std::vector<TokenId> one = {5, 17, 300, 42, 8, 9, 77}, two = {1, 2, 3, 4, 250};
  for (const Pooling pooling : {Pooling::kMean, Pooling::kLast, Pooling::kFirst}) {
    TestSession alone(*path, best(), 2, Precision::kFast);
    const std::vector<float> vector = alone.embed(one, 512, pooling);
    alone.restart();
    const std::vector<float> rows = alone.append(two, 512, 2);

    TestSession session(*path, best(), 2, Precision::kFast);
    const kv::BlockTable& all = session.block_table();
    const kv::BlockTable first(all.begin(), all.begin() + 1),
        second(all.begin() + 1, all.begin() + 2), third(all.begin() + 2, all.begin() + 3);
    std::vector<float> sum(vector.size());
    Segment pooled{0, one, 0, &first, nullptr};
    pooled.pooled = sum.data();
    pooled.pooling = pooling;
    const Segment segments[] = {
        {0, two, 2, &second, nullptr}, pooled, {0, two, 2, &third, nullptr}};
    const Logits logits = session.forward().run(Batch{segments});
    ASSERT_EQ(logits.rows, 4);
    for (const int row : {0, 2}) {
      EXPECT_EQ(0, std::memcmp(logits.row(row).data(), rows.data(), rows.size() * sizeof(float)));
    }
    EXPECT_EQ(0, std::memcmp(sum.data(), vector.data(), vector.size() * sizeof(float)))
        << pooling_name(pooling);
  }
}

TEST(Embedding, ZerosHaveNoDirection) {
  std::vector<float> zeros(8);
  EXPECT_TRUE(finish_pooling(Pooling::kMean, 3, true, zeros));
  for (const float x : zeros) EXPECT_EQ(x, 0.0f);
  std::vector<float> vector = {3, 0, 4};
  EXPECT_TRUE(finish_pooling(Pooling::kLast, 3, true, vector));
  EXPECT_EQ(vector, (std::vector<float>{0.6f, 0, 0.8f}));
  vector[1] = __builtin_nanf("");
  EXPECT_FALSE(finish_pooling(Pooling::kLast, 3, true, vector));
}

TEST(Embedding, TheFileMaySayHowToPool) {
  const auto pooling_of = [](uint32_t number) {
    gguf::Writer writer;
    writer.add("general.architecture", "qwen3");
    writer.add("qwen3.pooling_type", number);
    const std::vector<std::byte> bytes = writer.bytes();
    const auto read = read_pooling(gguf::open_bytes(bytes).value()->metadata());
    return !read.ok() ? read.error().message : std::string(*read ? pooling_name(**read) : "none");
  };
  EXPECT_EQ(pooling_of(0), "none");
  EXPECT_EQ(pooling_of(1), "mean");
  EXPECT_EQ(pooling_of(2), "cls");
  EXPECT_EQ(pooling_of(3), "last");
  EXPECT_EQ(pooling_of(4), "key 'qwen3.pooling_type': 4 is none of 1 (mean), 2 (cls), 3 (last)");
}

}  // namespace
}  // namespace pawl::model
