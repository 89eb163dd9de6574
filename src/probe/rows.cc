// SPDX-License-Identifier: Apache-2.0
#include "probe/rows.h"

#include <algorithm>

#include "base/check.h"
#include "kv/block_pool.h"
#include "kv/layout.h"
#include "model/forward.h"

namespace pawl::probe {
namespace {

// Rows of one pass: 8 times 262,144 floats are 8 MiB.
constexpr int kRowsPerPass = 8;

}  // namespace

base::Result<void> compute_rows(engine::Runtime& runtime, std::span<const base::TokenId> ids,
                                const RowsOptions& options,
                                const std::function<void(int64_t, std::span<const float>)>& row) {
  const int64_t count = static_cast<int64_t>(ids.size());
  if (count == 0) return base::Error{base::ErrorCode::kInvalidArgument, "the prompt is empty", ""};
  PAWL_CHECK(0 <= options.first && options.first <= options.last && options.last < count &&
             options.chunk > 0);
  for (const base::TokenId id : ids) PAWL_TRY_VOID(runtime.tokenizer().vocab().check(id));

  const bool is_exact = runtime.precision() == model::Precision::kReference;
  const int32_t needed =
      static_cast<int32_t>((count + kv::kBlockPositions - 1) / kv::kBlockPositions);
  PAWL_TRY(kv::BlockPool blocks,
           kv::BlockPool::create(needed, runtime.model()->kv_layout(is_exact).block_bytes()));
  kv::BlockTable table;
  for (int32_t i = 0; i < needed; ++i) table.push_back(*blocks.take());
  const model::Limits limits{
      .max_tokens = options.chunk, .max_rows = kRowsPerPass, .max_positions = count};
  PAWL_TRY(model::Forward forward,
           model::Forward::create(runtime.model(), runtime.kernels(), runtime.pool(), blocks,
                                  runtime.precision(), limits));
  for (int64_t begin = 0; begin <= options.last;) {
    // Up to the first wanted position in whole chunks, from there on as many as have room for their
    // rows.
    const bool is_before = begin < options.first;
    const int64_t end =
        is_before ? std::min(begin + options.chunk, options.first)
                  : std::min({begin + options.chunk, begin + kRowsPerPass, options.last + 1});
    const model::Segment segment{
        begin, ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
        is_before ? 0 : static_cast<int>(end - begin), &table};
    const model::Logits logits = forward.run({{&segment, 1}});
    for (int i = 0; i < logits.rows; ++i) row(begin + i, logits.row(i));
    begin = end;
  }
  return {};
}

}  // namespace pawl::probe
