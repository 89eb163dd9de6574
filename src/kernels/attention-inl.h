// SPDX-License-Identifier: Apache-2.0
// Attention over KV blocks, once, over the Vec of whichever vec.h was included before. A tile's
// rows (token, query head) that attend to a block go through it together, a few rows at a time, so
// that a key or value is converted once per few rows. Which rows share a pass changes no bit: every
// row has its own sums, each in the order kernels.h fixes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention_passes-inl.h"
#include "kernels/elementwise-inl.h"
#include "kernels/kernels.h"

namespace pawl::kernels {
namespace {

// One thread's memory for a tile: the scores of one block, and the running softmax of one span. The
// floats of acc, [kAttentionRows][value_dim], follow it, then the scales of a block's keys or
// values where the cache holds codes.
struct alignas(64) AttentionScratch {
  float p[kAttentionRows][kKvBlock];  // scores, then their exponentials
  float m[kAttentionRows];
  float l[kAttentionRows];
  float old_scale[kAttentionRows];  // what sums so far are multiplied with: exp(old m - new m)
  float new_m[kAttentionRows];      // the maximum with this block; then what is subtracted from its
                                    // scores
  int begin[kAttentionRows];        // slots of this block the row attends to
  int end[kAttentionRows];
};

// What to subtract from scores whose maximum is m: never -infinity, so that no exponent is a NaN.
inline float finite_maximum(float m) {
  return m == -kInfinity ? 0.0f : m;
}

// ---- scores

inline const float* query_row(const AttentionTile& tile, int row) {
  return tile.q + row / tile.group * tile.q_token_stride +
         row % tile.group * static_cast<int64_t>(tile.head_dim);
}

template <typename Keys>
inline void score_block(const AttentionTile& tile, const Keys& k, Range rows, float (*p)[kKvBlock],
                        Ahead ahead) {
  const int step = rows_per_pass(rows.end - rows.begin);
  for (int row = rows.begin; row < rows.end; row += step) {
    const int count = rows.end - row < step ? rows.end - row : step;
    const float* q[kPassRows];
    for (int r = 0; r < count; ++r) q[r] = query_row(tile, row + r);
    score_some<kPassRows>(count, k, q, tile.head_dim, p + row, ahead);
    ahead.step = 0;
  }
}

// ---- softmax

// Raw sums → scores: scaled, capped, biased; -infinity where the row does not attend. Sets new_m.
inline void finish_scores(const AttentionTile& tile, int64_t block_begin, Range rows,
                          AttentionScratch* s) {
  alignas(64) constexpr float kCount[kLanes] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                8, 9, 10, 11, 12, 13, 14, 15};
  const Vec count = load(kCount);
  for (int row = rows.begin; row < rows.end; ++row) {
    Vec most = broadcast(-kInfinity);
    const bool whole = s->begin[row] == 0 && s->end[row] == kKvBlock;
    const int64_t position = tile.first_position + row / tile.group;
    for (int slot = 0; slot < kKvBlock; slot += kLanes) {
      Vec v = mul(load(s->p[row] + slot), broadcast(tile.scale));
      if (tile.cap > 0) v = capped(v, broadcast(tile.cap));
      if (tile.slopes != nullptr) {
        const Vec distance =
            add(broadcast(static_cast<float>(block_begin + slot - position)), count);
        v = add(v, mul(broadcast(tile.slopes[row % tile.group]), distance));
      }
      if (!whole) v = keep_lanes(v, s->begin[row] - slot, s->end[row] - slot, -kInfinity);
      store(s->p[row] + slot, v);
      most = max(most, v);
    }
    s->new_m[row] = greater(s->m[row], reduce_max(most));
  }
}

// Moves m and l of the rows to the new maximum and turns scores into exponentials.
inline void exponentiate(Range rows, AttentionScratch* s) {
  for (int row = rows.begin; row < rows.end; row += kLanes) {
    const int count = rows.end - row < kLanes ? rows.end - row : kLanes;
    for (int r = row; r < row + count; ++r) {
      const float m = s->new_m[r];
      s->new_m[r] = finite_maximum(m);
      s->old_scale[r] = s->m[r] - s->new_m[r];
      s->m[r] = m;
    }
    const Vec difference = load_partial(s->old_scale + row, count, 0.0f);
    store_partial(s->old_scale + row, count, exponential(difference));
  }
  for (int row = rows.begin; row < rows.end; ++row) {
    const Vec most = broadcast(s->new_m[row]);
    const Vec low = exponential(sub(load(s->p[row]), most));
    const Vec high = exponential(sub(load(s->p[row] + kLanes), most));
    store(s->p[row], low);
    store(s->p[row] + kLanes, high);
    s->l[row] = fma(s->l[row], s->old_scale[row], reduce_add(add(low, high)));
  }
}

// ---- values

inline void scale_row(float* acc, int value_dim, float factor) {
  if (factor == 1.0f) return;
  map(acc, value_dim, acc, [f = broadcast(factor)](Vec v) { return mul(v, f); });
}

// Adds the block's values to the rows' sums. A slot that only some rows of a pass attend to is
// given to those rows alone, one by one: what lies in a slot must not touch a row that does not
// attend to it, not even times zero.
template <typename Values>
inline void value_block(const Values& v, Range rows, const AttentionScratch& s, Ahead ahead,
                        float* acc) {
  const Ahead nothing = {ahead.from, 0};
  const int step = rows_per_pass(rows.end - rows.begin);
  for (int row = rows.begin; row < rows.end; row += step) {
    const int count = rows.end - row < step ? rows.end - row : step;
    Range shared = {0, kKvBlock};
    for (int r = row; r < row + count; ++r) {
      if (s.begin[r] > shared.begin) shared.begin = s.begin[r];
      if (s.end[r] < shared.end) shared.end = s.end[r];
      scale_row(acc + static_cast<int64_t>(r) * v.dim, v.dim, s.old_scale[r]);
    }
    if (shared.end < shared.begin) shared.end = shared.begin;
    const auto alone = [&](int r, int begin, int end) {
      if (begin < end)
        value_some<1>(1, v, s.p + r, {begin, end}, nothing, acc + static_cast<int64_t>(r) * v.dim);
    };
    for (int r = row; r < row + count; ++r) {
      alone(r, s.begin[r], s.end[r] < shared.begin ? s.end[r] : shared.begin);
    }
    if (shared.begin < shared.end) {
      value_some<kPassRows>(count, v, s.p + row, shared, ahead,
                            acc + static_cast<int64_t>(row) * v.dim);
    }
    ahead = nothing;
    for (int r = row; r < row + count; ++r) {
      alone(r, s.begin[r] > shared.end ? s.begin[r] : shared.end, s.end[r]);
    }
  }
}

// ---- one block, one span, all of them

// The rows that attend to some slot of the block, and which slots.
inline Range attending_rows(const AttentionTile& tile, int64_t block_begin, AttentionScratch* s) {
  const int64_t earliest =
      block_begin - tile.first_position;  // the token at the block's first position
  int64_t token_begin = earliest > 0 ? earliest : 0;
  int64_t token_end = tile.tokens;
  if (tile.window > 0 && earliest + kKvBlock - 1 + tile.window < token_end) {
    token_end = earliest + kKvBlock - 1 + tile.window;
  }
  if (token_end < token_begin) token_end = token_begin;
  for (int64_t t = token_begin; t < token_end; ++t) {
    const int64_t position = tile.first_position + t - block_begin;  // relative to the block
    const int64_t oldest = tile.window > 0 ? position - tile.window + 1 : 0;
    for (int h = 0; h < tile.group; ++h) {
      s->begin[t * tile.group + h] = oldest > 0 ? static_cast<int>(oldest) : 0;
      s->end[t * tile.group + h] =
          position + 1 < kKvBlock ? static_cast<int>(position + 1) : kKvBlock;
    }
  }
  return {static_cast<int>(token_begin) * tile.group, static_cast<int>(token_end) * tile.group};
}

// next_k: the keys of the block that follows, or null. room: for the scales of keys and of values.
template <typename Keys, typename Values>
inline void attend_block(const AttentionTile& tile, int64_t block, const std::byte* next_k,
                         AttentionScratch* s, float* acc, float* room) {
  const Range rows = attending_rows(tile, block * kKvBlock, s);
  if (rows.begin == rows.end) return;
  const auto ahead = [&](const std::byte* wanted, const std::byte* present) {
    const bool strips = tile.value_dim > Values::kStrip && wanted != nullptr;
    return Ahead{reinterpret_cast<uintptr_t>(strips ? wanted : present), strips ? 64 : 0};
  };
  const std::byte* k = tile.k[block];
  const std::byte* v = tile.v[block];
  score_block(tile, Keys::of(k, tile.head_dim, room), rows, s->p, ahead(v, k));
  finish_scores(tile, block * kKvBlock, rows, s);
  exponentiate(rows, s);
  value_block(Values::of(v, tile.value_dim, room), rows, *s, ahead(next_k, v), acc);
}

inline void fold_row(float* m, float* l, float* acc, float m2, float l2, const float* acc2,
                     int value_dim) {
  if (m2 == -kInfinity) return;
  if (*m == -kInfinity) {
    *m = m2;
    *l = l2;
    return map(acc2, value_dim, acc, [](Vec v) { return v; });
  }
  const float n = greater(*m, m2);
  const float differences[2] = {*m - n, m2 - n};
  float scales[2];
  store_partial(scales, 2, exponential(load_partial(differences, 2, 0.0f)));
  *m = n;
  *l = fma(*l, scales[0], l2 * scales[1]);
  zip(acc, acc2, value_dim, acc,
      [a = broadcast(scales[0]), b = broadcast(scales[1])](Vec v, Vec v2) {
        return fma(v, a, mul(v2, b));
      });
}

inline void attention_fold(AttentionState state, AttentionState part, int64_t rows, int value_dim) {
  for (int64_t row = 0; row < rows; ++row) {
    fold_row(state.m + row, state.l + row, state.acc + row * value_dim, part.m[row], part.l[row],
             part.acc + row * value_dim, value_dim);
  }
}

template <typename Keys, typename Values>
inline void attend_spans(const AttentionTile& tile, int64_t span_begin, int64_t span_end,
                         AttentionState state, AttentionScratch* s) {
  constexpr int64_t kBlocksPerSpan = kKvSpan / kKvBlock;
  const int rows = tile.tokens * tile.group;
  const int64_t last = tile.first_position + tile.tokens - 1;
  const int64_t oldest = tile.window > 0 ? tile.first_position - tile.window + 1 : 0;
  const int64_t first_block = (oldest > 0 ? oldest : 0) / kKvBlock;
  const int64_t end_block = last / kKvBlock + 1;
  float* acc = reinterpret_cast<float*>(s + 1);
  float* room = acc + static_cast<int64_t>(kAttentionRows) * tile.value_dim;
  for (int64_t span = span_begin; span < span_end; ++span) {
    int64_t block = span * kBlocksPerSpan;
    int64_t end = block + kBlocksPerSpan;
    if (block < first_block) block = first_block;
    if (end > end_block) end = end_block;
    if (block >= end) continue;
    for (int row = 0; row < rows; ++row) {
      s->m[row] = -kInfinity;
      s->l[row] = 0.0f;
    }
    __builtin_memset(
        acc, 0, sizeof(float) * static_cast<size_t>(rows) * static_cast<size_t>(tile.value_dim));
    for (; block < end; ++block) {
      const std::byte* next_k = block + 1 < end_block ? tile.k[block + 1] : nullptr;
      attend_block<Keys, Values>(tile, block, next_k, s, acc, room);
    }
    attention_fold(state, {s->m, s->l, acc}, rows, tile.value_dim);
  }
}

inline void attention_spans(const AttentionTile& tile, int64_t span_begin, int64_t span_end,
                            AttentionState state, void* scratch) {
  auto* s = static_cast<AttentionScratch*>(scratch);
  switch (tile.type) {
    case KvType::kF16:
      return attend_spans<PlainKeys<Half>, PlainValues<Half>>(tile, span_begin, span_end, state, s);
    case KvType::kF32:
      return attend_spans<PlainKeys<float>, PlainValues<float>>(tile, span_begin, span_end, state,
                                                                s);
    case KvType::kQ8_0:
      return attend_spans<CodedKeys, CodedValues>(tile, span_begin, span_end, state, s);
    case KvType::kF16Q8_0:
      return attend_spans<PlainKeys<Half>, CodedValues>(tile, span_begin, span_end, state, s);
  }
}

inline void attention_finish(AttentionState state, int64_t tokens, int group, int value_dim,
                             const float* sinks, float* out, int64_t out_token_stride) {
  for (int64_t t = 0; t < tokens; ++t) {
    for (int h = 0; h < group; ++h) {
      const int64_t row = t * group + h;
      float l = state.l[row];
      float a = 1.0f;
      if (sinks != nullptr) {
        const float n = finite_maximum(greater(state.m[row], sinks[h]));
        const float differences[2] = {state.m[row] - n, sinks[h] - n};
        float scales[2];
        store_partial(scales, 2, exponential(load_partial(differences, 2, 0.0f)));
        a = scales[0];
        l = fma(l, a, scales[1]);
      }
      map(state.acc + row * value_dim, value_dim,
          out + t * out_token_stride + h * static_cast<int64_t>(value_dim),
          [factor = broadcast(a), sum = broadcast(l)](Vec v) { return div(mul(v, factor), sum); });
    }
  }
}

}  // namespace
}  // namespace pawl::kernels
