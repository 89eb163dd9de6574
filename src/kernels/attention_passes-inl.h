// SPDX-License-Identifier: Apache-2.0
// The two products of attention over one KV block, for a few rows at a time: queries × keys and
// weights × values. What vec.h calls kPassRows × kPassVecs sums stay in registers while a block
// streams by. Part of attention-inl.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace pawl::kernels {
namespace {

// Rows of a tile, or slots of a block, [begin, end).
struct Range {
  int begin, end;
};

// `count` rows in passes of equal size, so that none is left almost alone.
inline int rows_per_pass(int count) {
  const int passes = (count + kPassRows - 1) / kPassRows;
  return (count + passes - 1) / passes;
}

// Memory to ask for while computing, `step` bytes further with every turn of a loop: a block of
// wide rows is read in strips of columns, an order the hardware does not foresee. With step 0 it is
// a line that is there anyhow, which costs less than a branch.
struct Ahead {
  uintptr_t from;
  int step;

  void ask(int turn) const {
    __builtin_prefetch(reinterpret_cast<const void*>(from + static_cast<uintptr_t>(turn * step)));
  }
};

// ---- scores

// p[row][slot] = the sum over d of q[row][d] * k[d][slot], all slots of the block, for `Rows` rows.
template <int Rows, typename T>
inline void score_pass(const T* k, const float* const* q, int head_dim, float (*p)[kKvBlock],
                       Ahead ahead) {
  for (int slot = 0; slot < kKvBlock; slot += kPassVecs * kLanes) {
    Vec sum[Rows][kPassVecs];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kPassVecs; ++v) sum[r][v] = broadcast(0.0f);
    }
    for (int d = 0; d < head_dim; ++d) {
      ahead.ask(d);
      Vec key[kPassVecs];
#pragma GCC unroll 16
      for (int v = 0; v < kPassVecs; ++v) key[v] = load(k + d * kKvBlock + slot + v * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        const Vec query = broadcast(q[r][d]);
#pragma GCC unroll 16
        for (int v = 0; v < kPassVecs; ++v) sum[r][v] = fma(query, key[v], sum[r][v]);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kPassVecs; ++v) store(p[r] + slot + v * kLanes, sum[r][v]);
    }
  }
}

// score_pass for `rows` <= Rows rows.
template <int Rows, typename T>
inline void score_some(int rows, const T* k, const float* const* q, int head_dim,
                       float (*p)[kKvBlock], Ahead ahead) {
  if (rows == Rows) return score_pass<Rows>(k, q, head_dim, p, ahead);
  if constexpr (Rows > 1) score_some<Rows - 1>(rows, k, q, head_dim, p, ahead);
}

// ---- values

// acc[row][c] = fma(p[row][j], v[j][c], acc[row][c]) for j ascending in `slots`; `Rows` rows,
// `Vecs` vectors of columns, or with Tail one vector of `tail` columns. The `ahead` columns after
// them are asked for: a block is read in strips of columns, an order the hardware does not foresee.
template <int Rows, int Vecs, bool Tail, typename T>
inline void value_pass(const T* v, int value_dim, const float (*p)[kKvBlock], Range slots, int tail,
                       Ahead ahead, float* acc) {
  Vec sum[Rows][Vecs];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < Vecs; ++c) {
      const float* from = acc + r * value_dim + c * kLanes;
      sum[r][c] = Tail ? load_partial(from, tail, 0.0f) : load(from);
    }
  }
  for (int j = slots.begin; j < slots.end; ++j) {
    ahead.ask(2 * j);
    ahead.ask(2 * j + 1);
    Vec value[Vecs];
#pragma GCC unroll 16
    for (int c = 0; c < Vecs; ++c) {
      const T* from = v + j * value_dim + c * kLanes;
      value[c] = Tail ? load_partial(from, tail, 0.0f) : load(from);
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const Vec weight = broadcast(p[r][j]);
#pragma GCC unroll 16
      for (int c = 0; c < Vecs; ++c) sum[r][c] = fma(weight, value[c], sum[r][c]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < Vecs; ++c) {
      float* to = acc + r * value_dim + c * kLanes;
      if (Tail) {
        store_partial(to, tail, sum[r][c]);
      } else {
        store(to, sum[r][c]);
      }
    }
  }
}

// All columns, for `rows` <= Rows rows. Few rows take more columns at once: enough sums in flight
// either way.
template <int Rows, typename T>
inline void value_some(int rows, const T* v, int value_dim, const float (*p)[kKvBlock], Range slots,
                       Ahead ahead, float* acc) {
  if (rows == Rows) {
    constexpr int kMost = kPassRows * kPassVecs / Rows;
    constexpr int kVecs = kMost >= 4 ? 4 : kMost >= 2 ? 2 : 1;
    int c = 0;
    for (; c + kVecs * kLanes <= value_dim; c += kVecs * kLanes) {
      value_pass<Rows, kVecs, false>(v + c, value_dim, p, slots, 0, ahead, acc + c);
      ahead.from += static_cast<uintptr_t>(2 * kKvBlock * ahead.step);
    }
    for (; c + kLanes <= value_dim; c += kLanes) {
      value_pass<Rows, 1, false>(v + c, value_dim, p, slots, 0, ahead, acc + c);
    }
    if (c < value_dim) {
      value_pass<Rows, 1, true>(v + c, value_dim, p, slots, value_dim - c, ahead, acc + c);
    }
    return;
  }
  if constexpr (Rows > 1) value_some<Rows - 1>(rows, v, value_dim, p, slots, ahead, acc);
}

}  // namespace
}  // namespace pawl::kernels
