// SPDX-License-Identifier: Apache-2.0
#include "kernels/coarse.h"

#include <cmath>
#include <cstring>

#include "kernels/dequantize.h"
#include "kernels/kernels.h"

namespace pawl::kernels {
namespace {

// Above what rounding can add to a sum of squares in double precision, and to its root.
constexpr double kSlack = 1 + 1e-6;
constexpr double kFloatStep = 0x1p-24;  // half a unit in the last place of 1

struct Squares {
  int32_t left_out, whole;
};

// Of a group's 32 codes: the squares of what Q8_0Coarse leaves out, and of the codes. Products of
// 16 bits, for which every processor has an instruction.
Squares squares_of(const int8_t* codes) {
  int16_t whole[32], left_out[32];
  for (int i = 0; i < 32; ++i) {
    whole[i] = codes[i];
    left_out[i] = static_cast<int16_t>((codes[i] & 7) - 4);
  }
  Squares sum = {};
  for (int i = 0; i < 32; ++i) sum.left_out += left_out[i] * left_out[i];
  for (int i = 0; i < 32; ++i) sum.whole += whole[i] * whole[i];
  return sum;
}

float row_error(const std::byte* row, int64_t cols) {
  const int64_t group_bytes = raw_row_bytes(Format::kQ8_0, 32);
  double left_out = 0, whole = 0;
  for (int64_t g = 0; g < cols / 32; ++g) {
    uint16_t half;
    int8_t codes[32];
    std::memcpy(&half, row + g * group_bytes, 2);
    std::memcpy(codes, row + g * group_bytes + 2, sizeof(codes));
    const Squares squares = squares_of(codes);
    const double scale = half_to_float(half);
    left_out += scale * scale * squares.left_out;
    whole += scale * scale * squares.whole;
  }
  // A product takes three roundings a group, each of at most half a step of a sum of terms whose
  // magnitudes add up to the lengths' product; both products, and what is done with their bound.
  const double roundings = 2 * 3 * static_cast<double>(cols / 32) + 16;
  const double coarse = std::sqrt(whole) + std::sqrt(left_out);  // at least its length
  const double error = std::sqrt(left_out) + roundings * kFloatStep * coarse;
  return std::isfinite(error) ? static_cast<float>(error * kSlack) : HUGE_VALF;
}

}  // namespace

void coarse_errors(const std::byte* const rows[kRowsPerBlock], int64_t cols,
                   float out[kRowsPerBlock]) {
  for (int i = 0; i < kRowsPerBlock; ++i)
    out[i] = rows[i] == nullptr ? 0 : row_error(rows[i], cols);
}

float a8_length(const std::byte* row, int64_t n) {
  double sum = 0;
  const auto* groups = reinterpret_cast<const A8Group*>(row);
  for (int64_t g = 0; g < n / 32; ++g) {
    int32_t squares = 0;
    for (const int8_t code : groups[g].q) squares += code * code;
    sum += static_cast<double>(groups[g].scale) * groups[g].scale * squares;
  }
  return static_cast<float>(std::sqrt(sum) * kSlack);
}

}  // namespace pawl::kernels
