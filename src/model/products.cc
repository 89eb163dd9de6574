// SPDX-License-Identifier: Apache-2.0
// Matrix products of a batch: activations are quantised once, then pieces of row-blocks go to
// whichever thread is free. A piece computes whole outputs, so the cut changes no bit.
#include <algorithm>

#include "model/forward.h"

namespace pawl::model {
namespace {

// Weights of one piece, in bytes: a few microseconds of streaming, so that a thread that loses its
// core delays the others by no more, and large enough to make handing out work cheap.
constexpr int64_t kPieceBytes = 32 << 10;
// Tokens that share one pass over a piece: their activations stay in the second-level cache.
constexpr int64_t kTokenTile = 64;

int64_t piece_blocks(const Matrix& matrix, int threads) {
  const int64_t by_bytes = std::max<int64_t>(1, kPieceBytes / matrix.block_bytes);
  const int64_t by_threads = std::max<int64_t>(1, matrix.row_blocks() / (4 * threads));
  return std::min(by_bytes, by_threads);
}

}  // namespace

void Forward::multiply(const float* x, int64_t tokens, std::span<const Product> products) {
  const int64_t cols = products[0].weights->cols;
  const int64_t x8_bytes = kernels::a8_row_bytes((cols + 31) / 32 * 32);
  bool has_a8 = false;
  int64_t pieces = 0;
  for (const Product& product : products) {
    const Matrix& m = *product.weights;
    has_a8 |= precision_ == Precision::kFast && kernels::has_planes(m.format);
    const int64_t blocks = piece_blocks(m, pool_.threads());
    pieces += (m.row_blocks() + blocks - 1) / blocks;
  }
  if (has_a8) {
    pool_.run(tokens, 8, [&](int64_t begin, int64_t end, int) {
      for (int64_t t = begin; t < end; ++t)
        table_.quantize_a8(x + t * cols, cols, scratch_.x8 + t * x8_bytes);
    });
  }

  const auto run_piece = [&](const Product& product, int64_t block, int64_t blocks) {
    const Matrix& m = *product.weights;
    const bool is_a8 = precision_ == Precision::kFast && kernels::has_planes(m.format);
    const int64_t row = block * kernels::kRowsPerBlock;
    blocks = std::min(blocks, m.row_blocks() - block);
    const int64_t rows = std::min(blocks * kernels::kRowsPerBlock, m.rows - row);
    for (int64_t t = 0; t < tokens; t += kTokenTile) {
      kernels::MatmulTile tile{};
      tile.format = m.format;
      tile.w = m.packed + block * m.block_bytes;
      tile.row_blocks = blocks;
      tile.rows = rows;
      tile.cols = cols;
      tile.x =
          is_a8 ? scratch_.x8 + t * x8_bytes : reinterpret_cast<const std::byte*>(x + t * cols);
      tile.x_row_bytes = is_a8 ? x8_bytes : cols * static_cast<int64_t>(sizeof(float));
      tile.tokens = std::min(kTokenTile, tokens - t);
      tile.out = product.out + t * m.rows + row;
      tile.out_stride = m.rows;
      (is_a8 ? table_.matmul_a8 : table_.matmul_f32)(tile);
      if (product.bias == nullptr) continue;
      for (int64_t i = 0; i < tile.tokens; ++i)
        table_.add(tile.out + i * m.rows, product.bias + row, rows);
    }
  };
  pool_.run(pieces, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t piece = begin; piece < end; ++piece) {
      int64_t index = piece;
      for (const Product& product : products) {
        const int64_t blocks = piece_blocks(*product.weights, pool_.threads());
        const int64_t count = (product.weights->row_blocks() + blocks - 1) / blocks;
        if (index < count) {
          run_piece(product, index * blocks, blocks);
          break;
        }
        index -= count;
      }
    }
  });
  for (const Product& product : products) {
    if (!product.weights->adapters.empty()) add_adapters(x, tokens, product);
  }
}

}  // namespace pawl::model
