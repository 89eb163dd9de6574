// SPDX-License-Identifier: Apache-2.0
// The largest logit found without the row is the one in the row: same id, same bits, for every
// variant and thread count; of equals the lowest id; and where it cannot be found so, the row
// comes.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <numeric>
#include <random>

#include "kernels/test_weights.h"
#include "model/changed_copy_for_test.h"
#include "model/session_for_test.h"
#include "support/golden.h"

namespace pawl::model {
namespace {

using base::TokenId;
using kernels::Format;

constexpr int64_t kWidth = 64, kVocabulary = 512;
constexpr int64_t kRowBytes = kWidth / 32 * 34;

using Rows = std::vector<std::vector<std::byte>>;

Rows random_rows(uint32_t seed) {
  std::mt19937 random(seed);
  Rows rows;
  for (int64_t r = 0; r < kVocabulary; ++r) {
    rows.push_back(
        kernels::random_row(Format::kQ8_0, kWidth, 0.05F, kernels::Codes::kRandom, random));
  }
  return rows;
}

// They differ in the lower bits of their codes only.
Rows rows_hard_to_tell(uint32_t seed) {
  Rows rows = random_rows(seed);
  std::mt19937 random(seed + 1);
  for (auto& row : rows) {
    row = rows[0];
    for (int64_t i = 0; i < kRowBytes; ++i) {
      if (i % 34 >= 2) row[static_cast<size_t>(i)] ^= static_cast<std::byte>(random() % 8);
    }
  }
  return rows;
}

void set_scales(std::vector<std::byte>& row, uint16_t half) {
  for (int64_t at = 0; at < kRowBytes; at += 34) std::memcpy(row.data() + at, &half, 2);
}

const std::vector<TokenId> kIds = {2, 43, 80, 117, 154, 191, 228, 265, 302, 339};

// A small model whose output matrix is of 8 bits, with these rows.
class LargestLogit : public testing::Test {
 protected:
  void SetUp() override {
    const auto path = tests::golden_path("tiny/llama-untied.gguf");
    ASSERT_TRUE(path.has_value());
    source_ = gguf::open(*path).value();
  }

  std::shared_ptr<const gguf::File> file_with(const Rows& rows) {
    std::vector<std::byte> all;
    for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
    Changes changes;
    changes.replace_tensor = [&](const gguf::TensorView& t, gguf::Writer& writer) {
      if (t.name != "output.weight") return false;
      writer.add_tensor(t.name, gguf::TensorType::kQ8_0, {kWidth, kVocabulary}, all);
      return true;
    };
    bytes_ = changed_copy(*source_, changes);
    return gguf::open_bytes(bytes_).value();
  }

  std::unique_ptr<TestSession> session(const std::shared_ptr<const gguf::File>& file,
                                       const kernels::Table& table = best(), int threads = 2,
                                       Precision precision = Precision::kFast) {
    return std::make_unique<TestSession>(file, table, threads, precision);
  }

  // What comes of the prefix's last position when the largest alone is asked for.
  static Logits ask(TestSession& session, std::span<const TokenId> ids,
                    std::span<const TokenId> excluded = {}) {
    Segment segment{0, ids, 1, &session.block_table(), session.state(0)};
    segment.only_largest = true;
    segment.excluded = excluded;
    return session.forward().run({{&segment, 1}});
  }

  static Largest of_row(std::span<const float> row, std::span<const TokenId> excluded = {}) {
    Largest largest{-1, -HUGE_VALF};
    for (size_t i = 0; i < row.size(); ++i) {
      const auto id = static_cast<TokenId>(i);
      if (row[i] > largest.logit && std::ranges::find(excluded, id) == excluded.end()) {
        largest = {id, row[i]};
      }
    }
    return largest;
  }

  static void expect_found(const Logits& got, const Largest& expected) {
    ASSERT_EQ(got.largest.size(), 1u);
    EXPECT_EQ(got.data, nullptr);
    EXPECT_EQ(got.rows, 1);
    EXPECT_EQ(got.largest[0].id, expected.id);
    EXPECT_EQ(std::bit_cast<uint32_t>(got.largest[0].logit),
              std::bit_cast<uint32_t>(expected.logit));
  }

  std::shared_ptr<const gguf::File> source_;
  std::vector<std::byte> bytes_;  // of the file at hand
};

TEST_F(LargestLogit, IsThatOfTheRow) {
  const auto file = file_with(random_rows(1));
  for (const kernels::Table* table : variants()) {
    for (const int threads : {1, 3}) {
      const auto asked = session(file, *table, threads), whole = session(file, *table, threads);
      for (size_t n = 1; n <= kIds.size(); ++n) {
        const auto prefix = std::span(kIds).first(n);
        whole->restart();
        const Largest expected = of_row(whole->append(prefix, 512, 1));
        expect_found(ask(*asked, prefix), expected);
      }
      const LargestCounts& counts = asked->forward().largest_counts();
      EXPECT_EQ(counts.found, static_cast<int64_t>(kIds.size()));
      EXPECT_EQ(counts.fell_back, 0);
      EXPECT_GE(counts.exact_rows, static_cast<int64_t>(kIds.size()));
      EXPECT_LT(counts.exact_rows, static_cast<int64_t>(kIds.size()) * kVocabulary / 2);
    }
  }
}

TEST_F(LargestLogit, OfEqualsIsTheLowestId) {
  Rows rows = random_rows(2);
  const auto first = session(file_with(rows));
  const Largest top = of_row(first->append(kIds, 512, 1));
  for (const size_t other : {size_t{3}, size_t{500}}) {
    Rows twice = rows;
    twice[other] = rows[static_cast<size_t>(top.id)];
    const auto asked = session(file_with(twice));
    expect_found(ask(*asked, kIds), {std::min(top.id, static_cast<TokenId>(other)), top.logit});
  }
}

TEST_F(LargestLogit, LeavesOutWhatIsExcluded) {
  const auto file = file_with(random_rows(3));
  const auto whole = session(file), asked = session(file);
  const std::vector<float> row = whole->append(kIds, 512, 1);
  std::vector<TokenId> excluded;
  for (int i = 0; i < 20; ++i) {
    const Largest expected = of_row(row, excluded);
    expect_found(ask(*asked, kIds, excluded), expected);
    excluded.push_back(expected.id);
  }
  // So many that looking for them costs more than the row.
  for (TokenId id = 0; id < 100; ++id) excluded.push_back(id);
  const Logits many = ask(*asked, kIds, excluded);
  EXPECT_TRUE(many.largest.empty());
  ASSERT_EQ(many.row(0).size(), row.size());
  EXPECT_EQ(0, std::memcmp(many.data, row.data(), row.size() * sizeof(float)));
}

TEST_F(LargestLogit, WhatIsNoNumberIsNeverTheLargest) {
  Rows rows = random_rows(4);
  const auto first = session(file_with(rows));
  const Largest top = of_row(first->append(kIds, 512, 1));
  set_scales(rows[static_cast<size_t>(top.id)], 0x7e00);  // NaN
  set_scales(rows[7], 0x7e00);
  const auto file = file_with(rows);
  const auto whole = session(file), asked = session(file);
  const Largest expected = of_row(whole->append(kIds, 512, 1));
  EXPECT_NE(expected.id, top.id);
  expect_found(ask(*asked, kIds), expected);

  for (auto& row : rows) set_scales(row, 0x7e00);
  const auto none = session(file_with(rows));
  const Logits logits = ask(*none, kIds);
  EXPECT_TRUE(logits.largest.empty());
  EXPECT_EQ(logits.row(0).size(), static_cast<size_t>(kVocabulary));
  EXPECT_EQ(none->forward().largest_counts().fell_back, 1);
}

// No bound tells the rows apart, so the row comes.
TEST_F(LargestLogit, FallsBackWhereTooManyRowsMayBeIt) {
  const auto file = file_with(rows_hard_to_tell(5));
  const auto whole = session(file), asked = session(file);
  const std::vector<float> row = whole->append(kIds, 512, 1);
  const Logits logits = ask(*asked, kIds);
  EXPECT_TRUE(logits.largest.empty());
  ASSERT_EQ(logits.row(0).size(), row.size());
  EXPECT_EQ(0, std::memcmp(logits.data, row.data(), row.size() * sizeof(float)));
  EXPECT_EQ(asked->forward().largest_counts().fell_back, 1);
  EXPECT_EQ(asked->forward().largest_counts().found, 0);
  // Tried or not, the row is the same.
  for (int i = 0; i < 20; ++i) {
    const Logits again = ask(*asked, kIds);
    ASSERT_EQ(again.row(0).size(), row.size());
    EXPECT_EQ(0, std::memcmp(again.data, row.data(), row.size() * sizeof(float)));
  }
  const LargestCounts& counts = asked->forward().largest_counts();
  EXPECT_EQ(counts.fell_back + counts.not_tried, 21);
  EXPECT_GT(counts.not_tried, counts.fell_back);
}

// All rows point one way, but for their lower bits, and one is twice as long: where that is towards
// the hidden state it is the largest for certain, else the others cannot be told apart.
TEST_F(LargestLogit, IsTriedAgainAfterFailures) {
  Rows rows = rows_hard_to_tell(9);
  constexpr TokenId kLong = 300;
  for (int64_t at = 0; at < kRowBytes; at += 34) {
    std::byte* scale = rows[kLong].data() + at;
    uint16_t half;
    std::memcpy(&half, scale, 2);
    half = static_cast<uint16_t>(half + 0x400);  // the next exponent
    std::memcpy(scale, &half, 2);
  }
  const auto file = file_with(rows);
  std::span<const TokenId> towards, away;
  for (size_t n = 1; n <= kIds.size(); ++n) {
    const auto fresh = session(file);
    const Logits logits = ask(*fresh, std::span(kIds).first(n));
    (logits.largest.empty() ? away : towards) = std::span(kIds).first(n);
  }
  ASSERT_FALSE(towards.empty());
  ASSERT_FALSE(away.empty());
  const auto asked = session(file);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ask(*asked, away).largest.empty());
  int passes = 0;
  while (ask(*asked, towards).largest.empty()) ASSERT_LT(++passes, 64);
  EXPECT_GT(passes, 0);
  for (int i = 0; i < 5; ++i) {
    const Logits logits = ask(*asked, towards);
    ASSERT_FALSE(logits.largest.empty());
    EXPECT_EQ(logits.largest[0].id, kLong);
  }
}

// Of each its own, beside others; rows where one of them wants its row.
TEST_F(LargestLogit, SeveralSequencesGetTheirOwn) {
  const auto file = file_with(random_rows(7));
  const auto whole = session(file), both = session(file, best(), 3);
  const kv::BlockTable& all = both->block_table();
  const kv::BlockTable mine(all.begin(), all.begin() + 2), its(all.begin() + 2, all.begin() + 4);
  const auto prefix = std::span(kIds).first(6);
  const Largest of_whole = of_row(whole->append(kIds, 512, 1));
  whole->restart();
  const Largest of_prefix = of_row(whole->append(prefix, 512, 1));
  const TokenId excluded[] = {of_prefix.id};
  Segment segments[] = {{0, prefix, 0, &its, both->state(1)}, {0, kIds, 1, &mine, both->state(0)}};
  segments[1].only_largest = true;
  expect_found(both->forward().run({segments}), of_whole);

  segments[0].wanted = 1;
  EXPECT_TRUE(both->forward().run({segments}).largest.empty());
  segments[0].only_largest = true;
  const Logits two = both->forward().run({segments});
  ASSERT_EQ(two.largest.size(), 2u);
  EXPECT_EQ(two.largest[0].id, of_prefix.id);
  EXPECT_EQ(two.largest[1].id, of_whole.id);
  segments[0].excluded = excluded;
  const Logits without = both->forward().run({segments});
  ASSERT_EQ(without.largest.size(), 2u);
  EXPECT_NE(without.largest[0].id, of_prefix.id);
  EXPECT_EQ(without.largest[1].id, of_whole.id);
  EXPECT_EQ(both->forward().largest_counts().found, 5);
}

TEST_F(LargestLogit, RowsComeWhereThereAreNoBounds) {
  const auto exact = session(file_with(random_rows(8)), best(), 2, Precision::kReference);
  EXPECT_TRUE(ask(*exact, kIds).largest.empty());
  const auto floats = session(source_);
  EXPECT_TRUE(ask(*floats, kIds).largest.empty());
  EXPECT_EQ(floats->forward().largest_counts().fell_back, 0);  // nothing was tried
}

}  // namespace
}  // namespace pawl::model
