// SPDX-License-Identifier: Apache-2.0
// Matrix products of a batch: activations are quantised once, then pieces of row-blocks go to
// whichever thread is free. A piece computes whole outputs, so the cut changes no bit.
#include <algorithm>

#include "base/check.h"
#include "model/forward.h"

namespace pawl::model {
namespace {

// Weights of one piece, in bytes: a few microseconds of streaming, so that a thread that loses its
// core delays the others by no more, and large enough to make handing out work cheap.
constexpr int64_t kPieceBytes = 32 << 10;

// That read the same input.
constexpr size_t kMostProducts = 8;

}  // namespace

int64_t piece_blocks(const Matrix& matrix, int threads) {
  const int64_t by_bytes =
      std::max<int64_t>(1, kPieceBytes / (matrix.block_bytes + matrix.fine_bytes));
  const int64_t by_threads = std::max<int64_t>(1, matrix.row_blocks() / (4 * threads));
  return std::min(by_bytes, by_threads);
}

bool Forward::takes_a8(const Matrix& matrix) const {
  return precision_ == Precision::kFast && kernels::has_planes(matrix.format);
}

Forward::Input Forward::input_of(const float* x, int64_t tokens,
                                 std::span<const Product> products) {
  const int64_t cols = products[0].weights->cols;
  const Input input{x, scratch_.x8, cols, x8_row_bytes(cols)};
  const bool has_a8 = std::any_of(products.begin(), products.end(),
                                  [&](const Product& one) { return takes_a8(*one.weights); });
  if (!has_a8) return input;
  pool_.run(tokens, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t)
      table_.quantize_a8(x + t * cols, cols, scratch_.x8 + t * input.x8_bytes);
  });
  return input;
}

void Forward::multiply_piece(const Input& input, const Product& product, const Piece& piece) {
  const Matrix& m = *product.weights;
  const bool is_a8 = takes_a8(m);
  kernels::MatmulTile tile{};
  tile.format = m.format;
  tile.w = m.packed + piece.block * m.block_bytes;
  tile.fine = m.fine + piece.block * m.fine_bytes;
  tile.row_blocks = piece.blocks;
  tile.rows = piece.rows;
  tile.cols = input.cols;
  tile.x = is_a8 ? input.x8 + piece.token * input.x8_bytes
                 : reinterpret_cast<const std::byte*>(input.x + piece.token * input.cols);
  tile.x_row_bytes = is_a8 ? input.x8_bytes : input.cols * static_cast<int64_t>(sizeof(float));
  tile.tokens = piece.tokens;
  tile.out = piece.out;
  tile.out_stride = piece.out_stride;
  (is_a8 ? table_.matmul_a8 : table_.matmul_f32)(tile);
  if (product.bias == nullptr) return;
  for (int64_t i = 0; i < piece.tokens; ++i) {
    table_.add(piece.out + i * piece.out_stride,
               product.bias + piece.block * kernels::kRowsPerBlock, piece.rows);
  }
}

void Forward::multiply(const Input& input, int64_t tokens, std::span<const Product> products) {
  // Worked out once: a piece is a microsecond's work.
  struct Cut {
    int64_t blocks, pieces;  // row-blocks of a piece, pieces of the product
  };
  Cut cuts[kMostProducts];
  PAWL_CHECK(products.size() <= kMostProducts);
  int64_t pieces = 0;
  for (size_t i = 0; i < products.size(); ++i) {
    const Matrix& m = *products[i].weights;
    const int64_t blocks = piece_blocks(m, pool_.threads());
    cuts[i] = {blocks, (m.row_blocks() + blocks - 1) / blocks};
    pieces += cuts[i].pieces;
  }

  const auto run_piece = [&](const Product& product, int64_t blocks, int64_t index) {
    const Matrix& m = *product.weights;
    Piece piece{};
    piece.block = index * blocks;
    piece.blocks = std::min(blocks, m.row_blocks() - piece.block);
    const int64_t row = piece.block * kernels::kRowsPerBlock;
    piece.rows = std::min(piece.blocks * kernels::kRowsPerBlock, m.rows - row);
    piece.out_stride = m.rows;
    for (int64_t t = 0; t < tokens; t += kTokenTile) {
      piece.token = t;
      piece.tokens = std::min(kTokenTile, tokens - t);
      piece.out = product.out + t * m.rows + row;
      multiply_piece(input, product, piece);
    }
  };
  pool_.run(pieces, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t piece = begin; piece < end; ++piece) {
      int64_t index = piece;
      size_t i = 0;
      for (; index >= cuts[i].pieces; ++i) index -= cuts[i].pieces;
      run_piece(products[i], cuts[i].blocks, index);
    }
  });
  for (const Product& product : products) {
    if (!product.weights->adapters.empty()) add_adapters(input.x, tokens, product);
  }
}

}  // namespace pawl::model
