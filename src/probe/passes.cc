// SPDX-License-Identifier: Apache-2.0
#include "probe/passes.h"

#include <algorithm>

#include "base/check.h"
#include "base/rng.h"
#include "kv/layout.h"
#include "policy/row_math.h"

namespace pawl::probe {

using base::Error;
using base::ErrorCode;
using base::Result;

Result<PassRunner> PassRunner::create(engine::Runtime& runtime, const PassLimits& limits,
                                      uint64_t seed) {
  const int64_t context = runtime.model()->config().context_length;
  if (limits.positions > context) {
    return Error{ErrorCode::kInvalidArgument,
                 "depth and tokens make " + std::to_string(limits.positions) +
                     " positions, the model's context holds " + std::to_string(context),
                 ""};
  }
  const int64_t each = (limits.positions + kv::kBlockPositions - 1) / kv::kBlockPositions;
  if (each * limits.sequences > INT32_MAX) {
    return Error{ErrorCode::kInvalidArgument,
                 std::to_string(limits.sequences) + " sequences of " +
                     std::to_string(limits.positions) + " positions are more than can be held",
                 ""};
  }
  PAWL_TRY(kv::BlockPool pool, kv::BlockPool::create(static_cast<int32_t>(each * limits.sequences),
                                                     runtime.kv_block_bytes()));
  auto blocks = std::make_unique<kv::BlockPool>(std::move(pool));
  PAWL_TRY(kv::StatePool states, kv::StatePool::create(static_cast<int32_t>(limits.sequences),
                                                       runtime.model()->config().state_floats));
  const model::Limits of_forward{.max_tokens = static_cast<int>(limits.tokens),
                                 .max_rows = static_cast<int>(limits.sequences),
                                 .max_positions = limits.positions,
                                 .kv_type = runtime.kv_type()};
  PAWL_TRY(model::Forward forward,
           model::Forward::create(runtime.model(), runtime.kernels(), runtime.pool(), *blocks,
                                  runtime.precision(), of_forward));
  return PassRunner(std::move(blocks), std::move(states), std::move(forward), limits, seed,
                    runtime.model()->config().vocabulary);
}

PassRunner::PassRunner(std::unique_ptr<kv::BlockPool> blocks, kv::StatePool states,
                       model::Forward forward, const PassLimits& limits, uint64_t seed,
                       int64_t vocabulary)
    : blocks_(std::move(blocks)),
      states_(std::move(states)),
      forward_(std::move(forward)),
      limits_(limits),
      tables_(static_cast<size_t>(limits.sequences)),
      filled_(static_cast<size_t>(limits.sequences), 0) {
  for (int64_t s = 0; s < limits.sequences; ++s) states_.take();
  for (kv::BlockTable& table : tables_) {
    for (int64_t p = 0; p < limits.positions; p += kv::kBlockPositions) {
      table.push_back(*blocks_->take());
    }
  }
  for (int64_t s = 0; s < limits.sequences; ++s) {
    for (int64_t p = 0; p < limits.positions; ++p) {
      const double u = base::uniform(seed, static_cast<uint64_t>(p), static_cast<uint64_t>(s));
      ids_.push_back(static_cast<base::TokenId>(u * static_cast<double>(vocabulary)));
    }
  }
}

bool PassRunner::fill(int64_t sequences, int64_t depth, const std::stop_token& stop) {
  for (int64_t s = 0; s < sequences; ++s) {
    int64_t& filled = filled_[static_cast<size_t>(s)];
    while (filled < depth) {
      if (stop.stop_requested()) return false;
      const int64_t tokens = std::min(limits_.tokens, depth - filled);
      run_from(s, {.sequences = 1, .tokens = tokens, .first_position = filled, .rows = 0});
      filled += tokens;
    }
  }
  return true;
}

// The pass on sequences from `first` on.
model::Logits PassRunner::run_from(int64_t first, const Pass& pass) {
  segments_.clear();
  for (int64_t s = first; s < first + pass.sequences; ++s) {
    const std::span<const base::TokenId> ids(
        ids_.data() + s * limits_.positions + pass.first_position,
        static_cast<size_t>(pass.tokens));
    segments_.push_back({pass.first_position, ids, pass.rows > 0 ? 1 : 0,
                         &tables_[static_cast<size_t>(s)],
                         states_.state(static_cast<kv::StateId>(s))});
    segments_.back().only_largest = pass.is_greedy;
  }
  return forward_.run({segments_});
}

GreedyWork PassRunner::run_greedy(const Pass& pass) {
  PAWL_CHECK(pass.is_greedy && pass.rows == pass.sequences);
  const model::LargestCounts before = forward_.largest_counts();
  const model::Logits logits = run_from(0, pass);
  const model::LargestCounts& after = forward_.largest_counts();
  const GreedyWork work{.has_rows = logits.largest.empty(),
                        .fell_back = after.fell_back > before.fell_back,
                        .exact_rows = after.exact_rows - before.exact_rows};
  const int64_t next = pass.first_position + pass.tokens;
  // Of more sequences the largest is never looked for, and the choice is not what is measured.
  if (next == limits_.positions || pass.sequences > model::LargestSearch::kMostRows) return work;
  for (int64_t s = 0; s < pass.sequences; ++s) {
    const auto row = static_cast<size_t>(s);
    const size_t id = work.has_rows ? policy::find_largest(logits.row(static_cast<int>(s))).index
                                    : static_cast<size_t>(logits.largest[row].id);
    ids_[static_cast<size_t>(s * limits_.positions + next)] =
        static_cast<base::TokenId>(id < static_cast<size_t>(logits.vocabulary) ? id : 0);
  }
  return work;
}

}  // namespace pawl::probe
