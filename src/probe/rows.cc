// SPDX-License-Identifier: Apache-2.0
#include "probe/rows.h"

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "kv/block_pool.h"
#include "kv/layout.h"
#include "kv/state_pool.h"
#include "model/forward.h"

namespace pawl::probe {
namespace {

// Rows of one pass: 8 times 262,144 floats are 8 MiB.
constexpr int kRowsPerPass = 8;
constexpr int64_t kOnePass = 4096;

base::Result<void> check_ids(const engine::Runtime& runtime, std::span<const base::TokenId> ids) {
  if (ids.empty()) return base::Error{base::ErrorCode::kInvalidArgument, "the prompt is empty", ""};
  for (const base::TokenId id : ids) PAWL_TRY_VOID(runtime.tokenizer().vocab().check(id));
  return {};
}

// Blocks and a state for one text, empty.
class Cache {
 public:
  static base::Result<Cache> create(const engine::Runtime& runtime, int64_t positions) {
    const int64_t needed = (positions + kv::kBlockPositions - 1) / kv::kBlockPositions;
    PAWL_TRY(kv::BlockPool blocks,
             kv::BlockPool::create(static_cast<int32_t>(needed), runtime.kv_block_bytes()));
    PAWL_TRY(kv::StatePool states,
             kv::StatePool::create(1, runtime.model()->config().state_floats));
    return Cache(std::make_unique<kv::BlockPool>(std::move(blocks)), std::move(states), needed,
                 positions);
  }

  // The cache outlives it.
  base::Result<model::Forward> forward(engine::Runtime& runtime, int64_t chunk, int rows) {
    const model::Limits limits{.max_tokens = static_cast<int>(chunk),
                               .max_rows = rows,
                               .max_positions = positions_,
                               .kv_type = runtime.kv_type()};
    return model::Forward::create(runtime.model(), runtime.kernels(), runtime.pool(), *blocks_,
                                  runtime.precision(), limits);
  }

  const kv::BlockTable& table() const { return table_; }
  float* state() const { return states_.state(state_); }

 private:
  Cache(std::unique_ptr<kv::BlockPool> blocks, kv::StatePool states, int64_t needed,
        int64_t positions)
      : blocks_(std::move(blocks)),
        states_(std::move(states)),
        state_(*states_.take()),
        positions_(positions) {
    for (int64_t i = 0; i < needed; ++i) table_.push_back(*blocks_->take());
  }

  std::unique_ptr<kv::BlockPool> blocks_;
  kv::StatePool states_;
  kv::StateId state_;
  kv::BlockTable table_;
  int64_t positions_;
};

}  // namespace

base::Result<void> compute_rows(engine::Runtime& runtime, std::span<const base::TokenId> ids,
                                const RowsOptions& options,
                                const std::function<void(int64_t, std::span<const float>)>& row) {
  const int64_t count = static_cast<int64_t>(ids.size());
  PAWL_TRY_VOID(check_ids(runtime, ids));
  PAWL_CHECK(0 <= options.first && options.first <= options.last && options.last < count &&
             options.chunk > 0);
  PAWL_TRY(Cache cache, Cache::create(runtime, count));
  PAWL_TRY(model::Forward forward, cache.forward(runtime, options.chunk, kRowsPerPass));
  for (int64_t begin = 0; begin <= options.last;) {
    // Up to the first wanted position in whole chunks, from there on as many as have room for their
    // rows.
    const bool is_before = begin < options.first;
    const int64_t end =
        is_before ? std::min(begin + options.chunk, options.first)
                  : std::min({begin + options.chunk, begin + kRowsPerPass, options.last + 1});
    const model::Segment segment{
        begin, ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
        is_before ? 0 : static_cast<int>(end - begin), &cache.table(), cache.state()};
    const model::Logits logits = forward.run({{&segment, 1}});
    for (int i = 0; i < logits.rows; ++i) row(begin + i, logits.row(i));
    begin = end;
  }
  return {};
}

base::Result<std::vector<float>> compute_last_row(engine::Runtime& runtime,
                                                  std::span<const base::TokenId> ids) {
  PAWL_TRY_VOID(check_ids(runtime, ids));
  const auto count = static_cast<int64_t>(ids.size());
  const int64_t chunk = std::min(count, kOnePass);
  PAWL_TRY(Cache cache, Cache::create(runtime, count));
  PAWL_TRY(model::Forward forward, cache.forward(runtime, chunk, 1));
  std::vector<float> row;
  for (int64_t begin = 0; begin < count; begin += chunk) {
    const int64_t tokens = std::min(chunk, count - begin);
    const bool is_last = begin + tokens == count;
    const model::Segment segment{
        begin, ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(tokens)),
        is_last ? 1 : 0, &cache.table(), cache.state()};
    const model::Logits logits = forward.run({{&segment, 1}});
    if (is_last) row.assign(logits.row(0).begin(), logits.row(0).end());
  }
  return row;
}

base::Result<std::vector<float>> compute_embedding(engine::Runtime& runtime,
                                                   std::span<const base::TokenId> ids,
                                                   model::Pooling pooling, bool is_normalised) {
  PAWL_TRY_VOID(check_ids(runtime, ids));
  const auto count = static_cast<int64_t>(ids.size());
  const int64_t chunk = std::min<int64_t>(count, RowsOptions{}.chunk);
  PAWL_TRY(Cache cache, Cache::create(runtime, count));
  PAWL_TRY(model::Forward forward, cache.forward(runtime, chunk, 1));
  std::vector<float> vector(static_cast<size_t>(runtime.model()->config().width));
  for (int64_t begin = 0; begin < count; begin += chunk) {
    const int64_t tokens = std::min(chunk, count - begin);
    model::Segment segment{begin,
                           ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(tokens)), 0,
                           &cache.table(), cache.state()};
    segment.pooled = vector.data();
    segment.pooling = pooling;
    forward.run({{&segment, 1}});
  }
  if (model::finish_pooling(pooling, count, is_normalised, vector)) return vector;
  return base::Error{base::ErrorCode::kBadFile, "the model's hidden states hold what is no number",
                     ""};
}

}  // namespace pawl::probe
