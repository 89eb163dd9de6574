// SPDX-License-Identifier: Apache-2.0
// matmul_a8 once, over the instruction set V and a row of kPlaneFormats. A file of one instruction
// set includes it and gives V, whose members the files in avx2/ and avx512/ define:
//   Bytes, Ints, Floats   a vector of kLanes rows: of 4 codes, of an int32, of a float
//   kSignedCodes          codes of 8 bits are taken as signed by dot, else as unsigned with 128
//   kTopOfByte            codes with an offset of half their range are moved to the top of a byte
//   dot, pair_sum         integer sums, exact; with kTopOfByte also add_ints, divide_by_power
// All of it has internal linkage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "kernels/packed.h"
#include "kernels/plane_format.h"
#include "kernels/unrolled-inl.h"
#include "kernels/weight_codes-inl.h"
#include "kernels/weight_stream-inl.h"

namespace pawl::kernels {
namespace {

// What V reads and writes are bytes.
template <class T>
PAWL_INLINE inline const std::byte* bytes_of(const T& field) {
  return reinterpret_cast<const std::byte*>(&field);
}
template <class T>
PAWL_INLINE inline std::byte* bytes_of(T& field) {
  return reinterpret_cast<std::byte*>(&field);
}

// The sum of the codes of steps [begin, end), times 1 or, with kTopOfByte, times -128.
template <class V, int begin, int end>
PAWL_INLINE inline typename V::Ints activation_sum(const A8Group& x) {
  if constexpr (V::kTopOfByte) {
    return V::broadcast_int(bytes_of(x.total[begin > 0 ? 2 : (end < 8 ? 1 : 0)]));
  } else {
    return V::template pair_sum < begin == 0 ? 1 : 0, end == 8 ? 1 : 0 > (bytes_of(x.sum[0]));
  }
}

// Steps [begin, end) of a group: the sum of (code - offset) * q as a float.
template <class V, int I, int kTokens, int begin, int end>
PAWL_INLINE inline typename V::Floats code_sum(const GroupWeights<V>& w, const A8Group& x) {
  constexpr PlaneFormat kFormat = kPlaneFormats[I];
  constexpr int kOffset = code_offset<V>(kFormat);
  typename V::Ints sum = V::zero_ints();
  if constexpr (starts_from_total<V>(kFormat)) {
    sum = activation_sum<V, begin, end>(x);
  } else if constexpr (kOffset != 0) {
    sum = V::template pair_sum < begin == 0 ? -kOffset : 0,
    end == 8 ? -kOffset : 0 > (bytes_of(x.sum[0]));
  }
  constexpr bool kIsWide = kFormat.code_book != nullptr ? kFormat.offset == 0 : kFormat.bits() == 8;
  constexpr int kLargest =
      kIsWide ? 128 : (kFormat.code_book != nullptr ? 2 * kFormat.offset : kFormat.max_code());
  if constexpr (keeps_upper_nibbles<V, I, kTokens>()) {
    const typename V::Ints upper =
        V::template dot<kLargest, 4, end>(w.code, bytes_of(x.q[0]), V::zero_ints());
    sum = V::template dot<kLargest, begin, 4>(w.code, bytes_of(x.q[0]), sum);
    return V::to_floats(V::add_ints(sum, V::template divide_by_power<4>(upper)));
  } else {
    return V::to_floats(V::template dot<kLargest, begin, end>(w.code, bytes_of(x.q[0]), sum));
  }
}

// The definition's step: acc + this group of 32 columns.
template <class V, int I, int kTokens>
PAWL_INLINE inline typename V::Floats add_group(const GroupWeights<V>& w, const A8Group& x,
                                                typename V::Floats acc) {
  constexpr PlaneFormat kFormat = kPlaneFormats[I];
  typename V::Floats p;
  if constexpr (kFormat.by_halves()) {
    p = V::multiply(code_sum<V, I, kTokens, 0, 4>(w, x), w.scale[0]);
    p = V::fma(code_sum<V, I, kTokens, 4, 8>(w, x), w.scale[1], p);
    if constexpr (kFormat.has_min()) {
      p = V::fma(V::to_floats(activation_sum<V, 0, 4>(x)), w.minimum[0], p);
      p = V::fma(V::to_floats(activation_sum<V, 4, 8>(x)), w.minimum[1], p);
    }
  } else {
    p = V::multiply(code_sum<V, I, kTokens, 0, 8>(w, x), w.scale[0]);
    if constexpr (kFormat.has_min()) {
      p = V::fma(V::to_floats(activation_sum<V, 0, 8>(x)), w.minimum[0], p);
    }
  }
  return V::fma(p, V::broadcast(bytes_of(x.scale)), acc);
}

// kLanes rows of a block times kTokens tokens.
struct LanesArguments {
  const std::byte* block;
  const std::byte* fine;
  int64_t groups;
  int lane;          // of the block's 16
  int rows;          // of the lanes, that are written
  const A8Group* x;  // of the first token
  int64_t x_groups;  // from token to token
  float* out;
  int64_t out_stride;
};

// The next eight groups. Long rows of activations do not stay in the first cache beside the
// weights; fetched line by line they would take the processor off the stream of weights.
PAWL_INLINE inline void ask_for_activations(const A8Group* x) {
  unrolled<8>([&](auto i) PAWL_INLINE { __builtin_prefetch(x + i); });
}

template <class V, int I, int kTokens>
void lanes_times_tokens(const LanesArguments& a) {
  constexpr PlaneFormat kFormat = kPlaneFormats[I];
  typename V::Floats acc[kTokens];
  unrolled<kTokens>([&](auto t) PAWL_INLINE { acc[t] = V::zero(); });
  constexpr int kSpanGroups = kFormat.span_groups();
  const std::byte* span = a.block;
  const std::byte* fine = a.fine;  // null where the format has none
  if constexpr (kFormat.fine == Fine::kRead) fine += 4 * a.lane;
  for (int64_t g = 0; g < a.groups; span += kFormat.span_bytes()) {
    SpanScales<V> head;
    read_head<V, I>(span, a.lane, head);
    if constexpr (kTokens <= kFewTokens) {
      ask_for_page(span);
      if constexpr (kFormat.fine == Fine::kRead) ask_for_page(fine);
    }
    if constexpr (kSpanGroups == 8 && kTokens == 1) ask_for_activations(a.x + g);
    for (int64_t k = 0; k < kSpanGroups && g < a.groups; ++k, ++g) {
      if constexpr (kTokens > kFewTokens) ask_for_lines<I>(span, fine, k);
      GroupWeights<V> w;
      read_codes<V, I, kTokens>(span + kFormat.planes(k) + 4 * a.lane, fine, w);
      fine += kFormat.fine_bytes();
      read_scales<V, I>(span, head, k, a.lane, w);
      const A8Group* x = a.x + g;
      unrolled<kTokens>([&](auto t) PAWL_INLINE {
        acc[t] = add_group<V, I, kTokens>(w, *x, acc[t]);
        x += a.x_groups;
      });
    }
  }
  unrolled<kTokens>([&](auto t)
                        PAWL_INLINE { V::store(a.out + t * a.out_stride, acc[t], a.rows); });
}

// Runs as many tiles of kTokens as there are tokens for, the rest in smaller ones.
template <class V, int I, int kTokens>
PAWL_INLINE inline void token_tiles(LanesArguments& a, int64_t tokens) {
  for (; tokens >= kTokens; tokens -= kTokens) {
    lanes_times_tokens<V, I, kTokens>(a);
    a.x += kTokens * a.x_groups;
    a.out += kTokens * a.out_stride;
  }
  if constexpr (kTokens > 1) token_tiles<V, I, kTokens / 2>(a, tokens);
}

template <class V, int I>
void matmul_planes(const MatmulTile& tile) {
  constexpr PlaneFormat kFormat = kPlaneFormats[I];
  const int64_t block_bytes = packed_block_bytes(kFormat.format, tile.cols);
  const int64_t fine_bytes = fine_block_bytes(kFormat.format, tile.cols);
  for (int64_t row = 0; row < tile.rows; row += V::kLanes) {
    const std::byte* block = tile.w + row / kRowsPerBlock * block_bytes;
    const int64_t rows_left = tile.rows - row;
    LanesArguments a = {
        .block = block,
        .fine = tile.fine + row / kRowsPerBlock * fine_bytes,
        .groups = tile.cols / 32,
        .lane = static_cast<int>(row % kRowsPerBlock),
        .rows = static_cast<int>(rows_left < V::kLanes ? rows_left : V::kLanes),
        .x = reinterpret_cast<const A8Group*>(tile.x),
        .x_groups = tile.x_row_bytes / static_cast<int64_t>(sizeof(A8Group)),
        .out = tile.out + row,
        .out_stride = tile.out_stride,
    };
    token_tiles<V, I, V::kTokens>(a, tile.tokens);
  }
}

template <class V>
void matmul_a8(const MatmulTile& tile) {
  unrolled<kPlaneFormatCount>([&](auto i) PAWL_INLINE {
    if (kPlaneFormats[i].format == tile.format) matmul_planes<V, i>(tile);
  });
}

template <class V>
void quantize_a8(const float* x, int64_t count, std::byte* out) {
  auto* groups = reinterpret_cast<A8Group*>(out);
  for (int64_t g = 0; g < count / 32; ++g, x += 32) {
    A8Group& group = groups[g];
    V::quantize_group(x, bytes_of(group.q[0]), bytes_of(group.scale), bytes_of(group.sum[0]));
    group.total[0] = -128 * (group.sum[0] + group.sum[1]);
    group.total[1] = -128 * group.sum[0];
    group.total[2] = -128 * group.sum[1];
  }
}

}  // namespace
}  // namespace pawl::kernels
