// SPDX-License-Identifier: Apache-2.0
// Codes and scales of a row's group as they stand in a file (drawn in dequantize.cc), for packing:
// 32 columns are two vectors of 16 bytes. All of it has internal linkage.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/formats.h"
#include "kernels/plane_format.h"

namespace pawl::kernels {
namespace {

// Shifts move bits between bytes too; a mask follows every one.
typedef uint16_t Sixteen __attribute__((vector_size(16)));

struct RowCodes {
  Sixteen low, high;  // columns 0..15, 16..31
};

Sixteen sixteen_at(const uint8_t* bytes) {
  Sixteen vector;
  std::memcpy(&vector, bytes, sizeof(vector));
  return vector;
}

// Bits `shift` and up of each byte, as far as `mask` goes.
Sixteen field(Sixteen bytes, int shift, int mask) {
  return (bytes >> shift) & static_cast<uint16_t>(mask * 0x0101);
}

// The codes of 16 nibble bytes: columns 0..15 low, 16..31 high.
RowCodes nibble_codes(const uint8_t* nibbles) {
  const Sixteen bytes = sixteen_at(nibbles);
  return {field(bytes, 0, 0x0f), field(bytes, 4, 0x0f)};
}

// Bit c of `high` becomes the fifth bit of column c.
RowCodes with_fifth_bits(RowCodes codes, const uint8_t* high) {
  uint32_t bits, words[8];
  std::memcpy(&bits, high, 4);
  for (int i = 0; i < 8; ++i) {
    words[i] = (((bits >> (4 * i)) & 0x0f) * 0x00204081U & 0x01010101U) << 4;  // bit k to byte k
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(words);
  return {codes.low | sixteen_at(bytes), codes.high | sixteen_at(bytes + 16)};
}

// 16 columns, from byte `at` of group p of 32 columns of a group of 256.
template <Format F>
Sixteen k_codes(const uint8_t* g, int p, int at) {
  const int quarter = 32 * (p / 2) + at, half = 32 * (p / 4) + at;
  if constexpr (F == Format::kQ4_K) return field(sixteen_at(g + 16 + quarter), 4 * (p % 2), 0x0f);
  if constexpr (F == Format::kQ5_K) {
    return field(sixteen_at(g + 48 + quarter), 4 * (p % 2), 0x0f) |
           field(sixteen_at(g + 16 + at), p, 1) << 4;
  }
  if constexpr (F == Format::kQ6_K) {
    return field(sixteen_at(g + 64 * (p / 4) + 32 * (p % 2) + at), 4 * (p / 2 % 2), 0x0f) |
           field(sixteen_at(g + 128 + half), 2 * (p % 4), 3) << 4;
  }
  if constexpr (F == Format::kQ3_K) {
    return field(sixteen_at(g + 32 + half), 2 * (p % 4), 3) | field(sixteen_at(g + at), p, 1) << 2;
  }
  if constexpr (F == Format::kQ2_K) return field(sixteen_at(g + 16 + half), 2 * (p % 4), 3);
}

// Columns 32p..32p+31 of one group of the file.
template <Format F>
RowCodes file_codes(const uint8_t* g, int p) {
  if constexpr (F == Format::kQ4_0 || F == Format::kIQ4_NL) return nibble_codes(g + 2);
  if constexpr (F == Format::kMXFP4) return nibble_codes(g + 1);
  if constexpr (F == Format::kQ4_1) return nibble_codes(g + 4);
  if constexpr (F == Format::kQ5_0) return with_fifth_bits(nibble_codes(g + 6), g + 2);
  if constexpr (F == Format::kQ5_1) return with_fifth_bits(nibble_codes(g + 8), g + 4);
  if constexpr (F == Format::kIQ4_XS) return nibble_codes(g + 8 + 16 * p);
  if constexpr (F == Format::kQ8_0 || F == Format::kQ8_0Split || F == Format::kQ8_0Coarse) {
    return {sixteen_at(g + 2) ^ uint16_t{0x8080}, sixteen_at(g + 18) ^ uint16_t{0x8080}};
  }
  if constexpr (kPlaneFormats[index_of(F)].by_256() && F != Format::kIQ4_XS) {
    return {k_codes<F>(g, p, 0), k_codes<F>(g, p, 16)};
  }
}

// Scale and minimum j of the 12 bytes that Q4_K and Q5_K share.
void k_scale(const uint8_t* s, int j, uint8_t* scale, uint8_t* minimum) {
  if (j < 4) {
    *scale = s[j] & 63;
    *minimum = s[j + 4] & 63;
  } else {
    *scale = static_cast<uint8_t>((s[j + 4] & 0x0f) | (s[j - 4] >> 6) << 4);
    *minimum = static_cast<uint8_t>((s[j + 4] >> 4) | (s[j] >> 6) << 4);
  }
}

uint8_t q3_scale(const uint8_t* s, int j) {
  const int low = j < 8 ? s[j] & 0x0f : s[j - 8] >> 4;
  return static_cast<uint8_t>((low | ((s[8 + j % 4] >> (2 * (j / 4))) & 3) << 4) - 32);
}

uint8_t iq4_xs_scale(const uint8_t* g, int p) {
  const int low = (g[4 + p / 2] >> (4 * (p % 2))) & 0x0f;
  const int high = ((g[2] | g[3] << 8) >> (2 * p)) & 3;
  return static_cast<uint8_t>((low | high << 4) - 32);
}

}  // namespace
}  // namespace pawl::kernels
