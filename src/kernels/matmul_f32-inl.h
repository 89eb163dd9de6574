// SPDX-License-Identifier: Apache-2.0
// matmul_f32 once, over the instruction set V (see matmul_a8-inl.h). Weights that are numbers are
// read as they stand; all others become floats, 256 columns of a block at a time, and serve all
// tokens of the tile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "kernels/packed.h"
#include "kernels/unrolled-inl.h"

namespace pawl::kernels {
namespace {

struct F32Arguments {
  const std::byte* w;   // [cols][16] of each block
  int64_t block_bytes;  // from block to block
  int64_t cols;
  const std::byte* x;
  int64_t x_row_bytes;
  bool continues;  // out holds the sums of the columns before
  int64_t rows;    // written, of all blocks
  float* out;
  int64_t out_stride;
};

template <class V, Format F>
PAWL_INLINE inline typename V::Floats load_weights(const std::byte* w) {
  if constexpr (F == Format::kF16) return V::halves(w);
  if constexpr (F == Format::kBF16) return V::bfloats(w);
  if constexpr (F == Format::kF32) return V::floats(w);
}

// Several blocks at once hide the latency of the multiply-add, several tokens share a weight.
template <class V, Format F, int kBlocks, int kTokens>
void blocks_times_tokens(const F32Arguments& a) {
  constexpr int kParts = kRowsPerBlock / V::kLanes;
  constexpr int kVectors = kBlocks * kParts;
  constexpr int kBytes = F == Format::kF32 ? 4 : 2;
  typename V::Floats acc[kTokens][kVectors];
  const auto rows_of = [&](int vector) PAWL_INLINE {
    const int64_t left = a.rows - vector * V::kLanes;
    return static_cast<int>(left < 0 ? 0 : (left < V::kLanes ? left : V::kLanes));
  };
  unrolled<kTokens>([&](auto t) PAWL_INLINE {
    unrolled<kVectors>([&](auto v) PAWL_INLINE {
      acc[t][v] =
          a.continues ? V::load(a.out + t * a.out_stride + v * V::kLanes, rows_of(v)) : V::zero();
    });
  });
  const std::byte* w = a.w;
  for (int64_t c = 0; c < a.cols; ++c, w += kRowsPerBlock * kBytes) {
    typename V::Floats weights[kVectors];
    unrolled<kVectors>([&](auto v) PAWL_INLINE {
      weights[v] =
          load_weights<V, F>(w + (v / kParts) * a.block_bytes + (v % kParts) * V::kLanes * kBytes);
    });
    const std::byte* x = a.x + 4 * c;
    unrolled<kTokens>([&](auto t) PAWL_INLINE {
      const typename V::Floats value = V::broadcast(x);
      unrolled<kVectors>([&](auto v)
                             PAWL_INLINE { acc[t][v] = V::fma(weights[v], value, acc[t][v]); });
      x += a.x_row_bytes;
    });
  }
  unrolled<kTokens>([&](auto t) PAWL_INLINE {
    unrolled<kVectors>([&](auto v) PAWL_INLINE {
      V::store(a.out + t * a.out_stride + v * V::kLanes, acc[t][v], rows_of(v));
    });
  });
}

template <class V, Format F, int kBlocks, int kTokens>
PAWL_INLINE inline void f32_token_tiles(F32Arguments a, int64_t tokens) {
  for (; tokens >= kTokens; tokens -= kTokens) {
    blocks_times_tokens<V, F, kBlocks, kTokens>(a);
    a.x += kTokens * a.x_row_bytes;
    a.out += kTokens * a.out_stride;
  }
  if constexpr (kTokens > 1) f32_token_tiles<V, F, kBlocks, kTokens / 2>(a, tokens);
}

template <class V, Format F>
void matmul_floats(const MatmulTile& tile) {
  F32Arguments a = {
      .w = tile.w,
      .block_bytes = packed_block_bytes(F, tile.cols),
      .cols = tile.cols,
      .x = tile.x,
      .x_row_bytes = tile.x_row_bytes,
      .continues = false,
      .rows = tile.rows,
      .out = tile.out,
      .out_stride = tile.out_stride,
  };
  const auto advance = [&](int64_t blocks) PAWL_INLINE {
    a.w += blocks * a.block_bytes;
    a.rows -= blocks * kRowsPerBlock;
    a.out += blocks * kRowsPerBlock;
  };
  // One token needs chains from four blocks; with more tokens two blocks fill the registers.
  constexpr int64_t kWide = 4 * kRowsPerBlock, kNarrow = V::kF32Blocks * kRowsPerBlock;
  for (; tile.tokens == 1 && a.rows > kWide - kRowsPerBlock; advance(4)) {
    blocks_times_tokens<V, F, 4, 1>(a);
  }
  for (; a.rows > kNarrow - kRowsPerBlock; advance(V::kF32Blocks)) {
    f32_token_tiles<V, F, V::kF32Blocks, V::kF32Tokens>(a, tile.tokens);
  }
  for (; a.rows > 0; advance(1)) f32_token_tiles<V, F, 1, V::kF32Tokens>(a, tile.tokens);
}

template <class V>
void matmul_unpacked(const MatmulTile& tile) {
  constexpr int64_t kColumns = 256;  // a multiple of every group
  alignas(64) float w[kColumns * kRowsPerBlock];
  const int64_t block_bytes = packed_block_bytes(tile.format, tile.cols);
  const int64_t fine_bytes = fine_block_bytes(tile.format, tile.cols);
  for (int64_t row = 0; row < tile.rows; row += kRowsPerBlock) {
    const std::byte* block = tile.w + row / kRowsPerBlock * block_bytes;
    const std::byte* fine = tile.fine + row / kRowsPerBlock * fine_bytes;
    for (int64_t col = 0; col < tile.cols; col += kColumns) {
      const int64_t left = tile.cols - col;
      const int64_t n = left < kColumns ? left : kColumns;
      unpack_columns(tile.format, block, tile.cols, col, n, w, fine);
      const F32Arguments a = {
          .w = reinterpret_cast<const std::byte*>(w),
          .block_bytes = 0,
          .cols = n,
          .x = tile.x + 4 * col,
          .x_row_bytes = tile.x_row_bytes,
          .continues = col > 0,
          .rows = tile.rows - row < kRowsPerBlock ? tile.rows - row : kRowsPerBlock,
          .out = tile.out + row,
          .out_stride = tile.out_stride,
      };
      f32_token_tiles<V, Format::kF32, 1, V::kF32Tokens>(a, tile.tokens);
    }
  }
}

template <class V>
void matmul_f32(const MatmulTile& tile) {
  switch (tile.format) {
    case Format::kF32:
      return matmul_floats<V, Format::kF32>(tile);
    case Format::kF16:
      return matmul_floats<V, Format::kF16>(tile);
    case Format::kBF16:
      return matmul_floats<V, Format::kBF16>(tile);
    default:
      return matmul_unpacked<V>(tile);
  }
}

}  // namespace
}  // namespace pawl::kernels
