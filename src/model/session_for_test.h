// SPDX-License-Identifier: Apache-2.0
// For tests: one sequence with its own blocks on a Forward, so that a test can say "these ids, in
// chunks of 7".
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/task_pool.h"
#include "gguf/reader.h"
#include "model/forward.h"

namespace pawl::model {

inline const kernels::Table& best() {
  return *kernels::choose_table("").value();
}

// The variants that this machine can run.
inline std::vector<const kernels::Table*> variants() {
  std::vector<const kernels::Table*> tables;
  for (const char* name : {"scalar", "avx2", "avx512", "avx512vnni"}) {
    const auto table = kernels::choose_table(name);
    if (table.ok()) tables.push_back(*table);
  }
  return tables;
}

class TestSession {
 public:
  TestSession(const std::string& path, const kernels::Table& table, int threads,
              Precision precision, int64_t positions = 256, int max_tokens = 512,
              int max_rows = 128, kernels::KvType kv_type = kernels::KvType::kF16,
              std::span<const AdapterSource> adapters = {})
      : TestSession(opened(path), table, threads, precision, positions, max_tokens, max_rows,
                    kv_type, adapters) {}

  TestSession(const std::shared_ptr<const gguf::File>& file, const kernels::Table& table,
              int threads, Precision precision, int64_t positions = 256, int max_tokens = 512,
              int max_rows = 128, kernels::KvType kv_type = kernels::KvType::kF16,
              std::span<const AdapterSource> adapters = {})
      : pool_(threads) {
    auto model = Model::create(file, pool_, adapters);
    if (!model.ok()) throw std::runtime_error(model.error().message);
    model_ = *model;
    const int32_t blocks =
        static_cast<int32_t>((positions + kv::kBlockPositions - 1) / kv::kBlockPositions);
    auto pool = kv::BlockPool::create(
        blocks, model_->kv_layout(kv_type_of(precision, kv_type)).block_bytes());
    blocks_ = std::make_unique<kv::BlockPool>(std::move(pool).value());
    for (int32_t i = 0; i < blocks; ++i) table_.push_back(blocks_->take().value());
    const auto floats = static_cast<size_t>(model_->config().state_floats);
    states_.resize(2, std::vector<float>(floats, __builtin_nanf("")));
    // What was never written must never matter.
    for (int32_t i = 0; i < blocks; ++i) {
      std::fill_n(blocks_->bytes(i), blocks_->block_bytes(), std::byte{0xff});
    }
    auto forward = Forward::create(model_, table, pool_, *blocks_, precision,
                                   Limits{.max_tokens = max_tokens,
                                          .max_rows = max_rows,
                                          .max_positions = positions,
                                          .kv_type = kv_type});
    forward_ = std::make_unique<Forward>(std::move(forward).value());
  }

  const Model& model() const { return *model_; }
  Forward& forward() { return *forward_; }
  const kv::BlockTable& block_table() const { return table_; }

  // Of one of two sequences; null where the model has none.
  float* state(size_t i) { return states_[i].empty() ? nullptr : states_[i].data(); }

  void restart() { position_ = 0; }

  // One vector for a text from its beginning, in chunks; unfinished.
  std::vector<float> embed(std::span<const base::TokenId> ids, int chunk, Pooling pooling) {
    restart();
    std::vector<float> sum(static_cast<size_t>(model_->config().width));
    const int n = static_cast<int>(ids.size());
    for (int begin = 0; begin < n; begin += chunk) {
      Segment segment{
          position_,
          ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(std::min(chunk, n - begin))),
          0, &table_, state(0)};
      segment.pooled = sum.data();
      segment.pooling = pooling;
      EXPECT_EQ(forward_->run(Batch{{&segment, 1}}).rows, 0);
      position_ += std::min(chunk, n - begin);
    }
    return sum;
  }

  // Appends ids in chunks and returns the logits of the last `wanted` positions.
  std::vector<float> append(std::span<const base::TokenId> ids, int chunk, int wanted) {
    std::vector<float> rows;
    const int n = static_cast<int>(ids.size());
    for (int begin = 0; begin < n; begin += chunk) {
      const int count = std::min(chunk, n - begin);
      const int rows_here = std::clamp(begin + count - (n - wanted), 0, count);
      const Segment segment{position_,
                            ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(count)),
                            rows_here, &table_, state(0)};
      const Logits logits = forward_->run(Batch{{&segment, 1}});
      if (logits.rows > 0) {
        rows.insert(rows.end(), logits.data,
                    logits.data + int64_t{logits.rows} * logits.vocabulary);
      }
      position_ += count;
    }
    return rows;
  }

 private:
  static std::shared_ptr<const gguf::File> opened(const std::string& path) {
    auto file = gguf::open(path);
    if (!file.ok()) throw std::runtime_error(file.error().message);
    return *file;
  }

  base::TaskPool pool_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<kv::BlockPool> blocks_;
  kv::BlockTable table_;
  std::vector<std::vector<float>> states_;
  std::unique_ptr<Forward> forward_;
  int64_t position_ = 0;
};

// What rows(session, chunk) gives, of the session that open(table, threads) makes, has the same
// bits for every variant of this machine, thread count and chunk.
template <typename Open, typename Rows>
void expect_same_bits(std::initializer_list<int> threads, std::initializer_list<int> chunks,
                      const Open& open, const Rows& rows) {
  std::vector<float> first;
  for (const kernels::Table* table : variants()) {
    for (const int count : threads) {
      TestSession session = open(*table, count);
      for (const int chunk : chunks) {
        const std::vector<float> got = rows(session, chunk);
        if (first.empty()) first = got;
        ASSERT_EQ(first.size(), got.size());
        ASSERT_EQ(0, std::memcmp(first.data(), got.data(), got.size() * sizeof(float)))
            << table->name << ", " << count << " threads, chunks of " << chunk;
      }
    }
  }
}

// The last row of `mine`, in `both` beside another sequence, has the bits that it has in `alone`.
// REQUIRES: `both` has room for 256 positions
inline void expect_same_bits_beside(TestSession& alone, TestSession& both,
                                    std::span<const base::TokenId> mine,
                                    std::span<const base::TokenId> other) {
  const std::vector<float> expected = alone.append(mine, 512, 1);
  const kv::BlockTable& all = both.block_table();
  const kv::BlockTable my_blocks(all.begin(), all.begin() + 2);
  const kv::BlockTable its_blocks(all.begin() + 2, all.begin() + 6);
  const Segment segments[] = {{0, other, 0, &its_blocks, both.state(1)},
                              {0, mine, 1, &my_blocks, both.state(0)}};
  const Logits logits = both.forward().run(Batch{segments});
  ASSERT_EQ(logits.rows, 1);
  EXPECT_EQ(0, std::memcmp(logits.data, expected.data(), expected.size() * sizeof(float)));
}

}  // namespace pawl::model
