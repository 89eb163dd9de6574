// SPDX-License-Identifier: Apache-2.0
#include "model/packing.h"

#include <algorithm>
#include <bit>
#include <string>

#include "kernels/coarse.h"
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
  if (item.is_split && matrix.format == kernels::Format::kQ8_0) {
    matrix.format = kernels::Format::kQ8_0Split;
  }
  matrix.block_bytes = kernels::packed_block_bytes(matrix.format, matrix.cols);
  matrix.fine_bytes = kernels::fine_block_bytes(matrix.format, matrix.cols);
  return matrix;
}

int64_t error_bytes(const Matrix& matrix) {
  const int64_t bytes = matrix.row_blocks() * kernels::kRowsPerBlock * int64_t{sizeof(uint16_t)};
  return matrix.fine_bytes == 0 ? 0 : (bytes + 63) / 64 * 64;
}

// The upper half of a float that is not below `value`. REQUIRES: value >= 0
uint16_t upper_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits >> 16) + ((bits & 0xffff) != 0 ? 1 : 0));
}

// Where a matrix is packed to.
struct Place {
  std::byte* blocks;
  std::byte* fine;
  uint16_t* errors;
};

// In slabs, each of which is given back to the file once it is packed.
void pack(const gguf::File& file, base::TaskPool& pool, const PendingMatrix& item,
          const Matrix& matrix, const Place& place) {
  constexpr int64_t kSlabBytes = 8 << 20;
  const int64_t row_bytes = raw_row_bytes(matrix);
  const auto pack_row_block = [&](int64_t block) {
    const std::byte* rows[kernels::kRowsPerBlock] = {};
    for (int i = 0; i < kernels::kRowsPerBlock; ++i) {
      const int64_t row = block * kernels::kRowsPerBlock + i;
      if (row < matrix.rows) rows[i] = item.tensor->data.data() + item.row(row) * row_bytes;
    }
    kernels::pack_block(matrix.format, rows, matrix.cols, place.blocks + block * matrix.block_bytes,
                        place.fine + block * matrix.fine_bytes);
    if (matrix.fine_bytes == 0) return;
    float errors[kernels::kRowsPerBlock];
    kernels::coarse_errors(rows, matrix.cols, errors);
    std::transform(errors, errors + kernels::kRowsPerBlock,
                   place.errors + block * kernels::kRowsPerBlock, upper_half);
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
    total += matrix.bytes() + error_bytes(matrix);
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
    const Place place = {out, out + matrix.coarse_bytes(),
                         reinterpret_cast<uint16_t*>(out + matrix.bytes())};
    matrix.packed = place.blocks;
    if (matrix.fine_bytes > 0) {
      matrix.fine = place.fine;
      matrix.coarse_errors = place.errors;
    }
    pack(file, pool, item, matrix, place);
    out += matrix.bytes() + error_bytes(matrix);
    *item.target = matrix;
  }
  return arena;
}

}  // namespace pawl::model
