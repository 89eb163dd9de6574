// SPDX-License-Identifier: Apache-2.0
#include "model/packing.h"

#include <algorithm>
#include <string>

#include "model/tensors.h"

namespace pawl::model {
namespace {

// Rows are packed 16 at a time. What filling up the last ones may cost, whatever the model's size.
constexpr int64_t kMostPaddingBytes = 16 << 20;

int64_t raw_row_bytes(const Matrix& matrix) {
  return kernels::raw_row_bytes(matrix.format, matrix.cols);
}

Matrix describe(const PendingMatrix& item) {
  Matrix matrix{.format = format_of(*item.tensor), .rows = item.rows, .cols = item.tensor->dims[0]};
  matrix.block_bytes = kernels::packed_block_bytes(matrix.format, matrix.cols);
  return matrix;
}

// In slabs, each of which is given back to the file once it is packed.
void pack(const gguf::File& file, base::TaskPool& pool, const PendingMatrix& item,
          const Matrix& matrix, std::byte* out) {
  constexpr int64_t kSlabBytes = 8 << 20;
  const int64_t row_bytes = raw_row_bytes(matrix);
  const auto pack_row_block = [&](int64_t block) {
    const std::byte* rows[kernels::kRowsPerBlock] = {};
    for (int i = 0; i < kernels::kRowsPerBlock; ++i) {
      const int64_t row = block * kernels::kRowsPerBlock + i;
      if (row < matrix.rows) rows[i] = item.tensor->data.data() + item.row(row) * row_bytes;
    }
    kernels::pack_block(matrix.format, rows, matrix.cols, out + block * matrix.block_bytes);
  };
  const int64_t slab = std::max<int64_t>(1, kSlabBytes / (kernels::kRowsPerBlock * row_bytes));
  for (int64_t first = 0; first < matrix.row_blocks(); first += slab) {
    const int64_t count = std::min(slab, matrix.row_blocks() - first);
    pool.run(count, 8, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) pack_row_block(first + i);
    });
    const int64_t begin_row = item.row(first * kernels::kRowsPerBlock);
    const int64_t last = std::min((first + count) * kernels::kRowsPerBlock, matrix.rows) - 1;
    file.release(item.tensor->data.subspan(
        static_cast<size_t>(begin_row * row_bytes),
        static_cast<size_t>((item.row(last) + 1 - begin_row) * row_bytes)));
  }
}

}  // namespace

base::Result<base::Arena> pack_matrices(const gguf::File& file, base::TaskPool& pool,
                                        std::span<const PendingMatrix> matrices) {
  int64_t total = 0, raw = 0;
  for (const PendingMatrix& item : matrices) {
    const Matrix matrix = describe(item);
    total += matrix.bytes();
    raw += matrix.rows * raw_row_bytes(matrix);
  }
  if (total > 2 * raw + kMostPaddingBytes) {
    return base::Error{base::ErrorCode::kUnsupported,
                       "the matrices have so few rows that " + std::to_string(raw) +
                           " bytes of weights would take " + std::to_string(total) +
                           " in blocks of 16 rows, more than twice as many",
                       ""};
  }
  PAWL_TRY(base::Arena arena, base::Arena::create(total));
  std::byte* out = arena.data();
  for (const PendingMatrix& item : matrices) {
    Matrix matrix = describe(item);
    matrix.packed = out;
    pack(file, pool, item, matrix, out);
    out += matrix.bytes();
    *item.target = matrix;
  }
  return arena;
}

}  // namespace pawl::model
