// SPDX-License-Identifier: Apache-2.0
// Matrices of a file → the layout the kernels read, all in one arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/arena.h"
#include "base/result.h"
#include "base/task_pool.h"
#include "gguf/reader.h"
#include "kernels/packed.h"

namespace pawl::model {

struct LowRank;

// [rows, cols], packed in row-blocks of 16 (kernels/packed.h). Absent: packed is null.
struct Matrix {
  kernels::Format format = kernels::Format::kF32;
  int64_t rows = 0, cols = 0;
  int64_t block_bytes = 0;
  const std::byte* packed = nullptr;
  // Where the format has the lower bits of codes apart: these, and for each row the upper half of
  // a float, how far its product without them can be from the whole one (kernels/coarse.h).
  int64_t fine_bytes = 0;  // of a row-block
  const std::byte* fine = nullptr;
  const uint16_t* coarse_errors = nullptr;
  // What adapters add: to each product with x the products scale * up · (down · x), in order.
  std::span<const LowRank> adapters = {};

  int64_t row_blocks() const {
    return (rows + kernels::kRowsPerBlock - 1) / kernels::kRowsPerBlock;
  }
  // Bytes a product has to read, and one without the lower bits.
  int64_t bytes() const { return row_blocks() * (block_bytes + fine_bytes); }
  int64_t coarse_bytes() const { return row_blocks() * block_bytes; }
};

// One adapter's part for one matrix (arXiv 2106.09685 §4.1).
struct LowRank {
  Matrix down;  // [rank, cols]
  Matrix up;    // [rows, rank]
  float scale = 1;
};

// Rows of a tensor that become a matrix.
struct PendingMatrix {
  const gguf::TensorView* tensor;
  Matrix* target;
  int64_t first_row = 0, rows = 0;  // dims of the tensor beyond the second count on as rows
  // The rows stand in runs of `run`, the first rows of which are `apart` rows apart; 0: in one run.
  int64_t run = 0, apart = 0;
  bool has_adapters = false;
  // Where a format exists for it, with the lower bits of codes apart.
  bool is_split = false;

  int64_t row(int64_t i) const { return first_row + (run == 0 ? i : i / run * apart + i % run); }
};

// Packs all of them on the pool and sets the targets; the arena owns what they point to. What was
// packed is given back by the file: never two resident copies. Errors: out of memory, and matrices
// of so few rows that filling them up would cost more than they hold.
base::Result<base::Arena> pack_matrices(const gguf::File& file, base::TaskPool& pool,
                                        std::span<const PendingMatrix> matrices);

}  // namespace pawl::model
