// SPDX-License-Identifier: Apache-2.0
// Weights for tests and benchmarks: random rows as they stand in a file, valid for their format,
// and packed.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/dequantize.h"
#include "kernels/formats.h"
#include "kernels/packed.h"

namespace pawl::kernels {

inline constexpr Format kAllFormats[] = {
    Format::kF32,       Format::kF16,       Format::kBF16,    Format::kQ4_0,   Format::kQ4_1,
    Format::kQ5_0,      Format::kQ5_1,      Format::kQ8_0,    Format::kQ2_K,   Format::kQ3_K,
    Format::kQ4_K,      Format::kQ5_K,      Format::kQ6_K,    Format::kIQ4_NL, Format::kIQ4_XS,
    Format::kIQ2_XXS,   Format::kIQ2_XS,    Format::kIQ3_XXS, Format::kIQ1_S,  Format::kIQ3_S,
    Format::kIQ2_S,     Format::kIQ1_M,     Format::kTQ1_0,   Format::kTQ2_0,  Format::kMXFP4,
    Format::kQ8_0Split, Format::kQ8_0Coarse};

inline constexpr Format kFormatsWithPlanes[] = {
    Format::kQ4_0,   Format::kQ4_1,   Format::kQ5_0,  Format::kQ5_1,      Format::kQ8_0,
    Format::kQ2_K,   Format::kQ3_K,   Format::kQ4_K,  Format::kQ5_K,      Format::kQ6_K,
    Format::kIQ4_NL, Format::kIQ4_XS, Format::kMXFP4, Format::kQ8_0Split, Format::kQ8_0Coarse};

// What stands in the file of that which is packed.
inline Format file_format(Format format) {
  const bool is_split = format == Format::kQ8_0Split || format == Format::kQ8_0Coarse;
  return is_split ? Format::kQ8_0 : format;
}

// Zeroed memory, 64-byte aligned, of `size` bytes rounded up to 64. What is large stands on huge
// pages where the system grants them: with pages of 4 KB one core reads at about half the rate.
class AlignedBytes {
 public:
  explicit AlignedBytes(int64_t size) {
    const size_t alignment = size >= kHugePage ? kHugePage : 64;
    const size_t bytes = (static_cast<size_t>(size) + alignment - 1) / alignment * alignment;
    bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, bytes)));
    if (size >= kHugePage) madvise(bytes_.get(), bytes, MADV_HUGEPAGE);
    std::memset(bytes_.get(), 0, bytes);
  }
  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }

 private:
  static constexpr int64_t kHugePage = int64_t{2} << 20;
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
};

// Where the f16 scales stand in a group of a file; -1: none.
struct ScaleFields {
  int d, second;
};

inline ScaleFields scale_fields(Format format) {
  switch (format) {
    case Format::kQ4_1:
    case Format::kQ5_1:
    case Format::kQ4_K:
    case Format::kQ5_K:
      return {0, 2};
    case Format::kQ2_K:
      return {80, 82};
    case Format::kQ3_K:
      return {108, -1};
    case Format::kQ6_K:
      return {208, -1};
    case Format::kTQ1_0:
      return {52, -1};
    case Format::kTQ2_0:
      return {64, -1};
    case Format::kF32:
    case Format::kIQ1_M:
    case Format::kMXFP4:
      return {-1, -1};
    default:
      return {0, -1};
  }
}

enum class Codes { kRandom, kLowest, kHighest };

// One row: random codes (or all bits 0, all bits 1) and random scales of about `magnitude`, of both
// signs.
inline std::vector<std::byte> random_row(Format format, int64_t cols, float magnitude, Codes codes,
                                         std::mt19937& random) {
  const FormatInfo& info = *format_info(format);
  std::vector<std::byte> row(static_cast<size_t>(raw_row_bytes(format, cols)));
  std::uniform_real_distribution<float> scale(-magnitude, magnitude);
  if (format == Format::kF32) {
    for (int64_t c = 0; c < cols; ++c) {
      const float value = scale(random);
      std::memcpy(row.data() + 4 * c, &value, 4);
    }
    return row;
  }
  for (std::byte& byte : row) {
    byte = codes == Codes::kRandom ? static_cast<std::byte>(random())
                                   : std::byte(codes == Codes::kLowest ? 0 : 255);
  }
  const auto put_half = [&](int64_t at) {
    const float value = scale(random);
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    const uint16_t half =
        format == Format::kBF16 ? static_cast<uint16_t>(bits >> 16) : float_to_half(value);
    std::memcpy(row.data() + at, &half, 2);
  };
  const ScaleFields fields = scale_fields(format);
  for (int64_t g = 0; g < static_cast<int64_t>(row.size()); g += info.group_bytes) {
    if (fields.d >= 0) put_half(g + fields.d);
    if (fields.second >= 0) put_half(g + fields.second);
    if (format == Format::kMXFP4) {  // an exponent; without magnitude the smallest there are
      const uint32_t least = magnitude == 0 ? 0 : magnitude > 1e4F ? 240 : 120;
      row[static_cast<size_t>(g)] = static_cast<std::byte>(least + random() % 16);
    }
    if (format ==
        Format::kIQ1_M) {  // the exponent's nibble of the scale, spread over the group's end
      std::byte& top = row[static_cast<size_t>(g) + 55];
      top = (top & std::byte{0x0f}) | std::byte{0x20};
    }
  }
  return row;
}

// A matrix as in a file, and packed.
struct TestMatrix {
  Format format;
  int64_t rows, cols;
  std::vector<std::vector<std::byte>> raw;
  AlignedBytes packed, fine;

  TestMatrix(Format f, int64_t row_count, int64_t col_count, std::mt19937& random,
             float magnitude = 0.05F, Codes codes = Codes::kRandom)
      : format(f),
        rows(row_count),
        cols(col_count),
        packed((row_count + 15) / 16 * packed_block_bytes(f, col_count)),
        fine((row_count + 15) / 16 * fine_block_bytes(f, col_count)) {
    for (int64_t r = 0; r < rows; ++r) {
      raw.push_back(random_row(file_format(f), cols, magnitude, codes, random));
      if (f == Format::kQ8_0Coarse) take_lower_bits_for_four(raw.back());
    }
    for (int64_t first = 0; first < rows; first += kRowsPerBlock) {
      const std::byte* block[kRowsPerBlock] = {};
      for (int64_t r = first; r < std::min(rows, first + kRowsPerBlock); ++r) {
        block[r - first] = raw[static_cast<size_t>(r)].data();
      }
      pack_block(f, block, cols,
                 packed.data() + first / kRowsPerBlock * packed_block_bytes(f, cols),
                 fine.data() + first / kRowsPerBlock * fine_block_bytes(f, cols));
    }
  }

  static void take_lower_bits_for_four(std::vector<std::byte>& row) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i % 34 >= 2) row[i] = (row[i] & std::byte{0xf8}) | std::byte{4};
    }
  }
};

}  // namespace pawl::kernels
