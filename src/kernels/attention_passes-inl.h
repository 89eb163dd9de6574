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

// ---- what a pass reads of a block; `part` and `room` as in read_scales

// Scales of a part whose codes are `dim` for each position, as floats in the order they have there.
inline const float* read_scales(const std::byte* part, int dim, float* room) {
  const auto* scales = reinterpret_cast<const Half*>(part + static_cast<int64_t>(dim) * kKvBlock);
  const int count = kv_groups(dim) * kKvBlock;
  for (int i = 0; i < count; i += kLanes) store(room + i, load(scales + i));
  return room;
}

// Keys as they lie, floats or halves.
template <typename T>
struct PlainKeys {
  const T* entries;

  static PlainKeys of(const std::byte* part, int, float*) {
    return {reinterpret_cast<const T*>(part)};
  }
  // Of entry d, the positions from `slot` on.
  Vec load_slots(int d, int slot) const { return load(entries + d * kKvBlock + slot); }
};

struct CodedKeys {
  const int8_t* codes;
  const float* scales;  // [groups][kKvBlock]

  static CodedKeys of(const std::byte* part, int dim, float* room) {
    return {reinterpret_cast<const int8_t*>(part), read_scales(part, dim, room)};
  }
  Vec load_slots(int d, int slot) const {
    return mul(load(codes + d * kKvBlock + slot), load(scales + d / kKvGroup * kKvBlock + slot));
  }
};

// Values, likewise.
template <typename T>
struct PlainValues {
  static constexpr int kStrip = 256 / sizeof(T);  // wider rows are read in strips
  const T* entries;
  int dim;

  static PlainValues of(const std::byte* part, int dim, float*) {
    return {reinterpret_cast<const T*>(part), dim};
  }
  // Of slot j, the columns from c on, or the first n of these.
  Vec load_columns(int j, int c) const { return load(entries + j * dim + c); }
  Vec load_columns(int j, int c, int n) const {
    return load_partial(entries + j * dim + c, n, 0.0f);
  }
};

struct CodedValues {
  static constexpr int kStrip = 128;
  const int8_t* codes;
  const float* scales;  // [kKvBlock][groups]
  int dim, groups;

  static CodedValues of(const std::byte* part, int dim, float* room) {
    return {reinterpret_cast<const int8_t*>(part), read_scales(part, dim, room), dim,
            kv_groups(dim)};
  }
  Vec load_columns(int j, int c) const { return mul(load(codes + j * dim + c), scale(j, c)); }
  Vec load_columns(int j, int c, int n) const {
    int8_t some[kLanes] = {};
    for (int i = 0; i < n; ++i) some[i] = codes[j * dim + c + i];
    return mul(load(some), scale(j, c));
  }
  // c is a multiple of kLanes: the columns are of one group.
  Vec scale(int j, int c) const { return broadcast(scales[j * groups + c / kKvGroup]); }
};

static_assert(kKvGroup % kLanes == 0);

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
template <int Rows, typename Keys>
inline void score_pass(const Keys& k, const float* const* q, int head_dim, float (*p)[kKvBlock],
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
      for (int v = 0; v < kPassVecs; ++v) key[v] = k.load_slots(d, slot + v * kLanes);
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
template <int Rows, typename Keys>
inline void score_some(int rows, const Keys& k, const float* const* q, int head_dim,
                       float (*p)[kKvBlock], Ahead ahead) {
  if (rows == Rows) return score_pass<Rows>(k, q, head_dim, p, ahead);
  if constexpr (Rows > 1) score_some<Rows - 1>(rows, k, q, head_dim, p, ahead);
}

// ---- values

// acc[row][c] = fma(p[row][j], v[j][c], acc[row][c]) for j ascending in `slots`; `Rows` rows,
// `Vecs` vectors of columns from `first` on, or with Tail one vector of `tail` columns. The `ahead`
// columns after them are asked for: a block is read in strips of columns, an order the hardware
// does not foresee.
template <int Rows, int Vecs, bool Tail, typename Values>
inline void value_pass(const Values& v, int first, const float (*p)[kKvBlock], Range slots,
                       int tail, Ahead ahead, float* acc) {
  acc += first;
  Vec sum[Rows][Vecs];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < Vecs; ++c) {
      const float* from = acc + r * v.dim + c * kLanes;
      sum[r][c] = Tail ? load_partial(from, tail, 0.0f) : load(from);
    }
  }
  for (int j = slots.begin; j < slots.end; ++j) {
    ahead.ask(2 * j);
    ahead.ask(2 * j + 1);
    Vec value[Vecs];
#pragma GCC unroll 16
    for (int c = 0; c < Vecs; ++c) {
      const int column = first + c * kLanes;
      value[c] = Tail ? v.load_columns(j, column, tail) : v.load_columns(j, column);
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
      float* to = acc + r * v.dim + c * kLanes;
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
template <int Rows, typename Values>
inline void value_some(int rows, const Values& v, const float (*p)[kKvBlock], Range slots,
                       Ahead ahead, float* acc) {
  if (rows == Rows) {
    constexpr int kMost = kPassRows * kPassVecs / Rows;
    constexpr int kVecs = kMost >= 4 ? 4 : kMost >= 2 ? 2 : 1;
    int c = 0;
    for (; c + kVecs * kLanes <= v.dim; c += kVecs * kLanes) {
      value_pass<Rows, kVecs, false>(v, c, p, slots, 0, ahead, acc);
      ahead.from += static_cast<uintptr_t>(2 * kKvBlock * ahead.step);
    }
    for (; c + kLanes <= v.dim; c += kLanes) {
      value_pass<Rows, 1, false>(v, c, p, slots, 0, ahead, acc);
    }
    if (c < v.dim) value_pass<Rows, 1, true>(v, c, p, slots, v.dim - c, ahead, acc);
    return;
  }
  if constexpr (Rows > 1) value_some<Rows - 1>(rows, v, p, slots, ahead, acc);
}

}  // namespace
}  // namespace pawl::kernels
