// SPDX-License-Identifier: Apache-2.0
// Half precision, and the formats whose codes are the weights themselves. Each reader draws the
// bytes of its group first. d, m, dmin: f16. The order of the multiplications is part of the
// definition.
#include "kernels/dequantize.h"

#include <bit>
#include <cstring>

#include "base/check.h"
#include "kernels/dequantize_groups.h"

namespace pawl::kernels {
namespace {

// d | codes[16]: byte i holds weight i in the low nibble, weight i + 16 in the high one. Weight = d
// * (code - 8).
void q4_0(const uint8_t* group, float* out) {
  const float d = read_half(group);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>((group[2 + i] & 15) - 8);
    out[i + 16] = d * static_cast<float>((group[2 + i] >> 4) - 8);
  }
}

// d | m | codes[16] as in Q4_0. Weight = d * code + m.
void q4_1(const uint8_t* group, float* out) {
  const float d = read_half(group);
  const float m = read_half(group + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(group[4 + i] & 15) + m;
    out[i + 16] = d * static_cast<float>(group[4 + i] >> 4) + m;
  }
}

// The fifth bits of 32 weights (bit i: weight i) and their nibbles as in Q4_0 → codes of 5 bits.
void five_bit_codes(const uint8_t* high, const uint8_t* low, int codes[32]) {
  const uint32_t bits = read_u32(high);
  for (int i = 0; i < 16; ++i) {
    codes[i] = (low[i] & 15) | static_cast<int>(bits >> i & 1) << 4;
    codes[i + 16] = (low[i] >> 4) | static_cast<int>(bits >> (i + 16) & 1) << 4;
  }
}

// d | high u32 | codes[16]. Weight = d * (code - 16).
void q5_0(const uint8_t* group, float* out) {
  const float d = read_half(group);
  int codes[32];
  five_bit_codes(group + 2, group + 6, codes);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(codes[i] - 16);
}

// d | m | high u32 | codes[16]. Weight = d * code + m.
void q5_1(const uint8_t* group, float* out) {
  const float d = read_half(group);
  const float m = read_half(group + 2);
  int codes[32];
  five_bit_codes(group + 4, group + 8, codes);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(codes[i]) + m;
}

// d | i8 codes[32]
void q8_0(const uint8_t* group, float* out) {
  const float d = read_half(group);
  for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(static_cast<int8_t>(group[2 + i])) * d;
}

// scales[16]: low nibble scale, high nibble minimum, of 16 weights each | codes[64]: byte 32 * h +
// i holds weights 128 * h + 32 * s + i at bits 2 * s | d | dmin. Weight = d * scale * code - dmin *
// minimum.
void q2_k(const uint8_t* group, float* out) {
  const uint8_t* codes = group + 16;
  const float d = read_half(group + 80);
  const float dmin = read_half(group + 82);
  for (int i = 0; i < 256; ++i) {
    const float scale = d * static_cast<float>(group[i / 16] & 15);
    const float minimum = dmin * static_cast<float>(group[i / 16] >> 4);
    const int code = codes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    out[i] = scale * static_cast<float>(code) - minimum;
  }
}

// high[32]: byte i % 32, bit i / 32 | codes[64] as in Q2_K | scales[12] of 6 bits: the low four of
// scale s in nibble s / 8 of byte s % 8, the high two of byte 8 + s % 4 at bits 2 * (s / 4) | d.
// Weight = d * (scale - 32) * (code - (high ? 0 : 4)).
void q3_k(const uint8_t* group, float* out) {
  const uint8_t* codes = group + 32;
  const uint8_t* packed = group + 96;
  const float d = read_half(group + 108);
  for (int i = 0; i < 256; ++i) {
    const int s = i / 16;
    const int low = packed[s % 8] >> (s / 8 * 4) & 15;
    const int high = packed[8 + s % 4] >> (s / 4 * 2) & 3;
    const float scale = d * static_cast<float>((low | high << 4) - 32);
    const int code = codes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    const int offset = group[i % 32] >> (i / 32) & 1 ? 0 : 4;
    out[i] = scale * static_cast<float>(code - offset);
  }
}

// Q4_K and Q5_K: eight scales and eight minima of 6 bits in 12 bytes. 0-3: bytes i and 4 + i, low
// six bits. 4-7: low four bits in the nibbles of byte 4 + i, high two at the top of bytes i - 4 and
// i.
void k_scales(const uint8_t* packed, int scales[8], int minima[8]) {
  for (int i = 0; i < 4; ++i) {
    scales[i] = packed[i] & 63;
    minima[i] = packed[4 + i] & 63;
    scales[4 + i] = (packed[8 + i] & 15) | packed[i] >> 6 << 4;
    minima[4 + i] = packed[8 + i] >> 4 | packed[4 + i] >> 6 << 4;
  }
}

// d | dmin | scales[12] | codes[128]: byte 32 * h + i holds weight 64 * h + i low, 64 * h + 32 + i
// high. Weight = d * scale * code - dmin * minimum, a scale for 32 weights.
void q4_k(const uint8_t* group, float* out) {
  const float d = read_half(group);
  const float dmin = read_half(group + 2);
  int scales[8], minima[8];
  k_scales(group + 4, scales, minima);
  for (int i = 0; i < 256; ++i) {
    const int code = group[16 + i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4) & 15;
    const float scale = d * static_cast<float>(scales[i / 32]);
    out[i] = scale * static_cast<float>(code) - dmin * static_cast<float>(minima[i / 32]);
  }
}

// d | dmin | scales[12] | high[32]: byte i % 32, bit i / 32 | codes[128] as in Q4_K
void q5_k(const uint8_t* group, float* out) {
  const float d = read_half(group);
  const float dmin = read_half(group + 2);
  int scales[8], minima[8];
  k_scales(group + 4, scales, minima);
  for (int i = 0; i < 256; ++i) {
    const int low = group[48 + i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4) & 15;
    const int high = group[16 + i % 32] >> (i / 32) & 1;
    const float scale = d * static_cast<float>(scales[i / 32]);
    out[i] =
        scale * static_cast<float>(low | high << 4) - dmin * static_cast<float>(minima[i / 32]);
  }
}

// low[128]: byte 64 * h + i holds weight 128 * h + i low, 128 * h + 64 + i high (i < 64) |
// high[64]: as the codes of Q2_K | i8 scales[16] | d. Weight = d * scale * (code - 32), a scale for
// 16 weights.
void q6_k(const uint8_t* group, float* out) {
  const float d = read_half(group + 208);
  for (int i = 0; i < 256; ++i) {
    const int low = group[i / 128 * 64 + i % 64] >> (i % 128 / 64 * 4) & 15;
    const int high = group[128 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    const float scale = d * static_cast<float>(static_cast<int8_t>(group[192 + i / 16]));
    out[i] = scale * static_cast<float>((low | high << 4) - 32);
  }
}

// Digit `n` of a byte that is a fraction of 256 in base three: times 3^n modulo 256, the leading
// digit is the code.
float ternary_digit(uint8_t byte, int n) {
  constexpr uint8_t kPower[5] = {1, 3, 9, 27, 81};
  const auto shifted = static_cast<uint8_t>(byte * kPower[n]);
  return static_cast<float>((shifted * 3 >> 8) - 1);
}

// codes[48] of five ternary digits: digits n of bytes 0-31 are weights 32 * n + i, of bytes 32-47
// weights 160 + 16 * n + i | rest[4] of four digits: weights 240 + 4 * n + i | d
void tq1_0(const uint8_t* group, float* out) {
  const float d = read_half(group + 52);
  for (int n = 0; n < 5; ++n) {
    for (int i = 0; i < 32; ++i) out[32 * n + i] = d * ternary_digit(group[i], n);
    for (int i = 0; i < 16; ++i) out[160 + 16 * n + i] = d * ternary_digit(group[32 + i], n);
  }
  for (int n = 0; n < 4; ++n) {
    for (int i = 0; i < 4; ++i) out[240 + 4 * n + i] = d * ternary_digit(group[48 + i], n);
  }
}

// codes[64] as in Q2_K | d. Weight = d * (code - 1).
void tq2_0(const uint8_t* group, float* out) {
  const float d = read_half(group + 64);
  for (int i = 0; i < 256; ++i) {
    const int code = group[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    out[i] = d * static_cast<float>(code - 1);
  }
}

void f32(const uint8_t* group, float* out) {
  std::memcpy(out, group, sizeof(float));
}
void f16(const uint8_t* group, float* out) {
  *out = read_half(group);
}
void bf16(const uint8_t* group, float* out) {
  *out = bfloat16_to_float(read_u16(group));
}

GroupReader group_reader(Format format) {
  switch (format) {
    case Format::kF32:
      return f32;
    case Format::kF16:
      return f16;
    case Format::kBF16:
      return bf16;
    case Format::kQ4_0:
      return q4_0;
    case Format::kQ4_1:
      return q4_1;
    case Format::kQ5_0:
      return q5_0;
    case Format::kQ5_1:
      return q5_1;
    case Format::kQ8_0:
      return q8_0;
    case Format::kQ2_K:
      return q2_k;
    case Format::kQ3_K:
      return q3_k;
    case Format::kQ4_K:
      return q4_k;
    case Format::kQ5_K:
      return q5_k;
    case Format::kQ6_K:
      return q6_k;
    case Format::kTQ1_0:
      return tq1_0;
    case Format::kTQ2_0:
      return tq2_0;
    default:
      return codebook_group_reader(format);
  }
}

}  // namespace

void dequantize_row(Format format, const std::byte* row, int64_t cols, float* out) {
  const FormatInfo* info = format_info(format);
  PAWL_CHECK(info != nullptr && cols % info->group == 0);
  const GroupReader read = group_reader(format);
  const auto* group = reinterpret_cast<const uint8_t*>(row);
  for (int64_t i = 0; i < cols; i += info->group, group += info->group_bytes) read(group, out + i);
}

float half_to_float(uint16_t bits) {
  constexpr uint32_t kExponent = 0x0f800000;  // of a half, moved to where a float's begins
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t magnitude = static_cast<uint32_t>(bits & 0x7fff) << 13;
  const uint32_t exponent = magnitude & kExponent;
  magnitude += (127 - 15) << 23;
  if (exponent == kExponent) {
    magnitude += (128 - 16) << 23;
    if ((magnitude & 0x007fffff) != 0) magnitude |= 0x00400000;  // a NaN becomes a quiet one
  } else if (exponent == 0) {
    // Subnormal: as if normal with the hidden bit, which is then taken off; the difference is
    // exact.
    const float hidden = std::bit_cast<float>(uint32_t{113} << 23);
    magnitude = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude + (1 << 23)) - hidden);
  }
  return std::bit_cast<float>(sign | magnitude);
}

float bfloat16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  uint32_t half;
  if (magnitude > 0x7f800000) {  // NaN: quiet, with the top of its payload
    half = 0x7e00 | (magnitude >> 13 & 0x1ff);
  } else if (magnitude >= 0x477ff000) {  // 65520 and above rounds to infinity
    half = 0x7c00;
  } else if (magnitude < 0x38800000) {
    // Below 2^-14: adding 0.5 lets the float unit round at 2^-24, the step of subnormal halves.
    half = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
  } else {
    const uint32_t odd = magnitude >> 13 & 1;
    half = (magnitude + 0xfff + odd - ((127 - 15) << 23)) >> 13;
  }
  return static_cast<uint16_t>(sign | half);
}

}  // namespace pawl::kernels
