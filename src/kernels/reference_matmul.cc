// SPDX-License-Identifier: Apache-2.0
// The definition of the matrix products: one plain function each. Every variant gives these bits.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/entries.h"
#include "kernels/kernels.h"
#include "kernels/packed.h"
#include "kernels/plane_format.h"

namespace pawl::kernels {

namespace {

constexpr float kSmallestAmax = 1e-30f;

A8Group quantize_group(const float* x) {
  A8Group out = {};
  float amax = 0;
  for (int i = 0; i < 32; ++i) {
    if (!std::isfinite(x[i])) {
      out.scale = std::numeric_limits<float>::quiet_NaN();
      return out;
    }
    amax = std::max(amax, std::fabs(x[i]));
  }
  if (amax < kSmallestAmax) amax = 0;
  out.scale = amax / 127.0f;
  const float inverse = amax == 0 ? 0.0f : 127.0f / amax;
  for (int i = 0; i < 32; ++i) {
    out.q[i] = static_cast<int8_t>(std::nearbyint(x[i] * inverse));
    out.sum[i / 16] = static_cast<int16_t>(out.sum[i / 16] + out.q[i]);
  }
  return out;
}

void quantize_a8(const float* x, int64_t count, std::byte* out) {
  auto* groups = reinterpret_cast<A8Group*>(out);
  for (int64_t g = 0; g < count / 32; ++g, x += 32) {
    A8Group group = quantize_group(x);
    group.total[0] = -128 * (group.sum[0] + group.sum[1]);
    group.total[1] = -128 * group.sum[0];
    group.total[2] = -128 * group.sum[1];
    groups[g] = group;
  }
}

// Sum over columns [begin, end) of one group.
float integer_sum(const PackedGroup& w, int row, const A8Group& x, int begin, int end) {
  int32_t sum = 0;
  for (int c = begin; c < end; ++c) sum += w.code[c][row] * x.q[c];
  return static_cast<float>(sum);
}

float add_group(const PlaneFormat& format, const PackedGroup& w, int row, const A8Group& x,
                float acc) {
  float p;
  if (format.by_halves()) {
    p = integer_sum(w, row, x, 0, 16) * w.scale[0][row];
    p = std::fma(integer_sum(w, row, x, 16, 32), w.scale[1][row], p);
    if (format.has_min()) {
      p = std::fma(static_cast<float>(x.sum[0]), w.minimum[0][row], p);
      p = std::fma(static_cast<float>(x.sum[1]), w.minimum[1][row], p);
    }
  } else {
    p = integer_sum(w, row, x, 0, 32) * w.scale[0][row];
    if (format.has_min()) {
      p = std::fma(static_cast<float>(x.sum[0] + x.sum[1]), w.minimum[0][row], p);
    }
  }
  return std::fma(p, x.scale, acc);
}

void matmul_a8(const MatmulTile& tile) {
  const PlaneFormat& format = *find_plane_format(tile.format);
  const int64_t block_bytes = packed_block_bytes(tile.format, tile.cols);
  const int64_t fine_bytes = fine_block_bytes(tile.format, tile.cols);
  PackedGroup w;
  for (int64_t t = 0; t < tile.tokens; ++t) {
    for (int64_t r = 0; r < tile.rows; ++r) tile.out[t * tile.out_stride + r] = 0;
  }
  for (int64_t first = 0; first < tile.rows; first += kRowsPerBlock) {
    const std::byte* block = tile.w + first / kRowsPerBlock * block_bytes;
    const std::byte* fine = tile.fine + first / kRowsPerBlock * fine_bytes;
    for (int64_t g = 0; g < tile.cols / 32; ++g) {
      read_group(tile.format, block, g, &w, fine);
      for (int64_t t = 0; t < tile.tokens; ++t) {
        const A8Group& x = reinterpret_cast<const A8Group*>(tile.x + t * tile.x_row_bytes)[g];
        float* out = tile.out + t * tile.out_stride + first;
        for (int row = 0; row < kRowsPerBlock && first + row < tile.rows; ++row) {
          out[row] = add_group(format, w, row, x, out[row]);
        }
      }
    }
  }
}

void matmul_f32(const MatmulTile& tile) {
  constexpr int64_t kColumns = 256;  // a multiple of every group
  const int64_t block_bytes = packed_block_bytes(tile.format, tile.cols);
  const int64_t fine_bytes = fine_block_bytes(tile.format, tile.cols);
  float w[kColumns * kRowsPerBlock];
  for (int64_t first = 0; first < tile.rows; first += kRowsPerBlock) {
    const std::byte* block = tile.w + first / kRowsPerBlock * block_bytes;
    const std::byte* fine = tile.fine + first / kRowsPerBlock * fine_bytes;
    for (int64_t col = 0; col < tile.cols; col += kColumns) {
      const int64_t n = std::min(kColumns, tile.cols - col);
      unpack_columns(tile.format, block, tile.cols, col, n, w, fine);
      for (int64_t t = 0; t < tile.tokens; ++t) {
        const float* x = reinterpret_cast<const float*>(tile.x + t * tile.x_row_bytes) + col;
        float* out = tile.out + t * tile.out_stride + first;
        for (int row = 0; row < kRowsPerBlock && first + row < tile.rows; ++row) {
          float acc = col == 0 ? 0.0f : out[row];
          for (int64_t c = 0; c < n; ++c) acc = std::fma(w[c * kRowsPerBlock + row], x[c], acc);
          out[row] = acc;
        }
      }
    }
  }
}

int64_t dot_peak(int64_t turns) {
  constexpr int kSums = 8;
  int32_t sums[kSums] = {};
  int32_t code = 3, x = 2;
  for (int64_t turn = 0; turn < turns; ++turn) {
    for (int32_t& sum : sums) {
      asm volatile("" : "+r"(code), "+r"(x));  // else one product would do for all sums
      sum += code * x;
    }
  }
  for (int32_t& sum : sums) asm volatile("" : "+r"(sum));
  return turns * kSums * 2;
}

}  // namespace

const MatmulEntries kScalarMatmul = {quantize_a8, matmul_a8, matmul_f32, dot_peak, false};

}  // namespace pawl::kernels
