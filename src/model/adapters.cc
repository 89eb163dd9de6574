// SPDX-License-Identifier: Apache-2.0
// What adapters add to a product. Both factors are multiplied in f32, in reference mode and else:
// they are small.
#include <algorithm>

#include "base/check.h"
#include "model/forward.h"

namespace pawl::model {

// out[t] += scale * up · (down · x[t])
void Forward::add_adapters(const float* x, int64_t tokens, const Product& product) {
  const int64_t cols = product.weights->cols, rows = product.weights->rows;
  const int64_t token_tiles = (tokens + kAdapterTokens - 1) / kAdapterTokens;
  const int64_t row_tiles = (rows + kAdapterRows - 1) / kAdapterRows;
  const auto tile_of = [&](const Matrix& m, int64_t row, const float* in, int64_t token) {
    kernels::MatmulTile tile{};
    tile.format = m.format;
    tile.w = m.packed + row / kernels::kRowsPerBlock * m.block_bytes;
    tile.rows = std::min(kAdapterRows, m.rows - row);
    tile.row_blocks = (tile.rows + kernels::kRowsPerBlock - 1) / kernels::kRowsPerBlock;
    tile.cols = m.cols;
    tile.x = reinterpret_cast<const std::byte*>(in + token * m.cols);
    tile.x_row_bytes = m.cols * static_cast<int64_t>(sizeof(float));
    tile.tokens = std::min(kAdapterTokens, tokens - token);
    return tile;
  };
  for (const LowRank& adapter : product.weights->adapters) {
    const int64_t rank = adapter.down.rows;
    PAWL_CHECK(adapter.down.cols == cols && adapter.up.rows == rows && adapter.up.cols == rank);
    pool_.run(token_tiles, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t token = begin * kAdapterTokens; token < std::min(end * kAdapterTokens, tokens);
           token += kAdapterTokens) {
        for (int64_t row = 0; row < rank; row += kAdapterRows) {
          kernels::MatmulTile tile = tile_of(adapter.down, row, x, token);
          tile.out = scratch_.adapted + token * rank + row;
          tile.out_stride = rank;
          table_.matmul_f32(tile);
        }
      }
    });
    pool_.run(token_tiles * row_tiles, 1, [&](int64_t begin, int64_t end, int worker) {
      float* made = scratch_.adapted_tiles + worker * kAdapterTokens * kAdapterRows;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i % row_tiles * kAdapterRows, token = i / row_tiles * kAdapterTokens;
        kernels::MatmulTile tile = tile_of(adapter.up, row, scratch_.adapted, token);
        tile.out = made;
        tile.out_stride = kAdapterRows;
        table_.matmul_f32(tile);
        for (int64_t t = 0; t < tile.tokens; ++t) {
          table_.add_scaled(product.out + (token + t) * rows + row, made + t * kAdapterRows,
                            adapter.scale, tile.rows);
        }
      }
    });
  }
}

}  // namespace pawl::model
