// SPDX-License-Identifier: Apache-2.0
// The formats whose codes are indices into a code book. Each reader draws the bytes of its group
// first. d: f16. The order of the multiplications is part of the definition.
#include <bit>

#include "kernels/dequantize.h"
#include "kernels/dequantize_groups.h"
#include "kernels/dequantize_tables.h"

namespace pawl::kernels {
namespace {

// Signs of eight weights stored in seven bits: the eighth makes the number of minus signs even.
unsigned even_signs(uint32_t seven) {
  return seven | (static_cast<unsigned>(std::popcount(seven)) & 1) << 7;
}

float signed_one(unsigned signs, int i) {
  return signs >> i & 1 ? -1.0f : 1.0f;
}

// Eight weights: scale * entry * sign. An entry of two-bit codes.
void put_iq2(float scale, uint16_t entry, unsigned signs, float* out) {
  for (int i = 0; i < 8; ++i) {
    out[i] = scale * static_cast<float>(kIq2Values[entry >> 2 * i & 3]) * signed_one(signs, i);
  }
}

// Four weights: scale * entry * sign. An entry of codes in nibbles.
void put_iq3(float scale, uint16_t entry, const int8_t values[8], unsigned signs, float* out) {
  for (int i = 0; i < 4; ++i) {
    out[i] = scale * static_cast<float>(values[entry >> 4 * i & 7]) * signed_one(signs, i);
  }
}

// Eight weights: scale * (entry + delta)
void put_iq1(float scale, uint16_t entry, float delta, float* out) {
  for (int i = 0; i < 8; ++i) {
    out[i] = scale * (static_cast<float>(kIq1Values[entry >> 2 * i & 3]) + delta);
  }
}

// Scales of IQ2: a four-bit code s stands for d * (0.5 + s) / 4.
float iq2_scale(float d, unsigned code) {
  return d * (0.5f + static_cast<float>(code)) * 0.25f;
}

// d | per 32 weights: index[4] of eight weights, u32: four times seven sign bits, the scale's code
// on top
void iq2_xxs(const uint8_t* group, float* out) {
  const float d = read_half(group);
  for (int b = 0; b < 8; ++b) {
    const uint8_t* index = group + 2 + 8 * b;
    const uint32_t rest = read_u32(index + 4);
    const float scale = iq2_scale(d, rest >> 28);
    for (int i = 0; i < 4; ++i) {
      const unsigned signs = even_signs(rest >> 7 * i & 127);
      put_iq2(scale, kIq2XxsGrid[index[i]], signs, out + 32 * b + 8 * i);
    }
  }
}

// d | u16[32]: nine bits of index, seven of sign | scales[8]: a nibble for 16 weights
void iq2_xs(const uint8_t* group, float* out) {
  const float d = read_half(group);
  const uint8_t* scales = group + 66;
  for (int i = 0; i < 32; ++i) {
    const unsigned code = read_u16(group + 2 + 2 * i);
    const float scale = iq2_scale(d, scales[i / 4] >> (i / 2 % 2 * 4) & 15);
    put_iq2(scale, kIq2XsGrid[code & 511], even_signs(code >> 9), out + 8 * i);
  }
}

// d | index[32] | signs[32] | high[8]: two more bits of index each | scales[8] as in IQ2_XS
void iq2_s(const uint8_t* group, float* out) {
  const float d = read_half(group);
  const uint8_t* high = group + 66;
  const uint8_t* scales = group + 74;
  for (int i = 0; i < 32; ++i) {
    const unsigned index = group[2 + i] | (high[i / 4] >> (i % 4 * 2) & 3u) << 8;
    const float scale = iq2_scale(d, scales[i / 4] >> (i / 2 % 2 * 4) & 15);
    put_iq2(scale, kIq2SGrid[index], group[34 + i], out + 8 * i);
  }
}

// d | index[64] of four weights | u32[8]: four times seven sign bits, the scale's code s on top: d
// * (0.5 + s) / 2
void iq3_xxs(const uint8_t* group, float* out) {
  const float d = read_half(group);
  for (int i = 0; i < 64; ++i) {
    const uint32_t rest = read_u32(group + 66 + i / 8 * 4);
    const float scale = d * (0.5f + static_cast<float>(rest >> 28)) * 0.5f;
    const unsigned signs = even_signs(rest >> (i % 8 / 2 * 7) & 127) >> (i % 2 * 4);
    put_iq3(scale, kIq3XxsGrid[group[2 + i]], kIq3XxsValues, signs, out + 4 * i);
  }
}

// d | index[64] of four weights | high[8]: a ninth bit each | signs[32] | scales[4]: nibble s for
// 32 weights, d * (1 + 2 s)
void iq3_s(const uint8_t* group, float* out) {
  const float d = read_half(group);
  const uint8_t* high = group + 66;
  const uint8_t* signs = group + 74;
  const uint8_t* scales = group + 106;
  for (int i = 0; i < 64; ++i) {
    const unsigned index = group[2 + i] | (high[i / 8] >> i % 8 & 1u) << 8;
    const int code = scales[i / 16] >> (i / 8 % 2 * 4) & 15;
    const float scale = d * static_cast<float>(1 + 2 * code);
    put_iq3(scale, kIq3SGrid[index], kIq3SValues, signs[i / 2] >> (i % 2 * 4), out + 4 * i);
  }
}

// IQ1: a three-bit code s stands for d * (2 s + 1); the entries are moved up or down by an eighth.
float iq1_scale(float d, unsigned code) {
  return d * static_cast<float>(2 * (code & 7) + 1);
}
float iq1_delta(bool down) {
  return down ? -0.125f : 0.125f;
}

// d | index[32] of eight weights | u16[8]: three more bits for four indices, the scale's code, down
void iq1_s(const uint8_t* group, float* out) {
  const float d = read_half(group);
  for (int i = 0; i < 32; ++i) {
    const unsigned high = read_u16(group + 34 + i / 4 * 2);
    const unsigned index = group[2 + i] | (high >> (i % 4 * 3) & 7) << 8;
    put_iq1(iq1_scale(d, high >> 12), kIq1Grid[index], iq1_delta(high & 0x8000), out + 8 * i);
  }
}

// index[32] of eight weights | high[16]: nibbles, three more bits of index and down | u16[4]: four
// scale codes of 16 weights each, and on top a nibble of d, the lowest first
void iq1_m(const uint8_t* group, float* out) {
  const uint8_t* scales = group + 48;
  unsigned d_bits = 0;
  for (int i = 0; i < 4; ++i) d_bits |= (read_u16(scales + 2 * i) >> 12) << 4 * i;
  const float d = half_to_float(static_cast<uint16_t>(d_bits));
  for (int i = 0; i < 32; ++i) {
    const unsigned high = group[32 + i / 2] >> (i % 2 * 4);
    const unsigned index = group[i] | (high & 7) << 8;
    const float scale = iq1_scale(d, read_u16(scales + i / 8 * 2) >> (i / 2 % 4 * 3));
    put_iq1(scale, kIq1Grid[index], iq1_delta(high & 8), out + 8 * i);
  }
}

// 32 weights: scale * value of a nibble; byte i holds weight i in the low nibble, weight i + 16 in
// the high one.
void put_nibbles(float scale, const uint8_t* codes, const int8_t values[16], float* out) {
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(values[codes[i] & 15]);
    out[i + 16] = scale * static_cast<float>(values[codes[i] >> 4]);
  }
}

// d | codes[16]
void iq4_nl(const uint8_t* group, float* out) {
  put_nibbles(read_half(group), group + 2, kIq4Values, out);
}

// d | high u16: two bits for each scale | low[4]: a nibble for each | codes[128]. Scale of 32
// weights: d * (s - 32).
void iq4_xs(const uint8_t* group, float* out) {
  const float d = read_half(group);
  const unsigned high = read_u16(group + 2);
  for (int b = 0; b < 8; ++b) {
    const int low = group[4 + b / 2] >> (b % 2 * 4) & 15;
    const int code = low | static_cast<int>(high >> 2 * b & 3) << 4;
    put_nibbles(d * static_cast<float>(code - 32), group + 8 + 16 * b, kIq4Values, out + 32 * b);
  }
}

// e: the exponent of a power of two, 2^(e - 127), here halved because the values are doubled |
// codes[16]
void mxfp4(const uint8_t* group, float* out) {
  const uint32_t e = group[0];
  const uint32_t bits = e < 2 ? uint32_t{0x00200000} << e : (e - 1) << 23;
  put_nibbles(std::bit_cast<float>(bits), group + 1, kMxfp4Values, out);
}

}  // namespace

GroupReader codebook_group_reader(Format format) {
  switch (format) {
    case Format::kIQ2_XXS:
      return iq2_xxs;
    case Format::kIQ2_XS:
      return iq2_xs;
    case Format::kIQ2_S:
      return iq2_s;
    case Format::kIQ3_XXS:
      return iq3_xxs;
    case Format::kIQ3_S:
      return iq3_s;
    case Format::kIQ1_S:
      return iq1_s;
    case Format::kIQ1_M:
      return iq1_m;
    case Format::kIQ4_NL:
      return iq4_nl;
    case Format::kIQ4_XS:
      return iq4_xs;
    case Format::kMXFP4:
      return mxfp4;
    default:
      return nullptr;
  }
}

}  // namespace pawl::kernels
