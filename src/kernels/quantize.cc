// SPDX-License-Identifier: Apache-2.0
// Groups of weights as bytes, which are drawn in dequantize.cc; how a K type's scales are found is
// in quantize_search.cc. All sums are float32, in the order written, no multiply-add is fused: the
// result is defined to the bit.
#include "kernels/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "kernels/dequantize.h"
#include "kernels/quantize_search.h"

namespace pawl::kernels {
namespace {

// Of numbers so small that the inverse overflows nothing is left in a 16-bit scale either.
float inverse_of(float scale) {
  const float inverse = 1.0f / scale;
  return std::isfinite(inverse) ? inverse : 0.0f;
}

void put_half(float value, uint8_t* out) {
  const uint16_t bits = float_to_half(value);
  out[0] = static_cast<uint8_t>(bits & 255);
  out[1] = static_cast<uint8_t>(bits >> 8);
}
float rounded_to_half(float value) {
  return half_to_float(float_to_half(value));
}

// The whole range of codes covers the largest magnitude, whichever side it is on.
void q4_0(const float* x, uint8_t* out) {
  const float d = extreme(x, 32) / -8;
  const float inverse = inverse_of(d);
  const auto code = [&](int i) { return std::min(15, static_cast<int>(x[i] * inverse + 8.5f)); };
  put_half(d, out);
  for (int i = 0; i < 16; ++i) out[2 + i] = static_cast<uint8_t>(code(i) | code(i + 16) << 4);
}

// Ties go away from zero here.
void q8_0(const float* x, uint8_t* out) {
  const float d = std::fabs(extreme(x, 32)) / 127.0f;
  const float inverse = inverse_of(d);
  put_half(d, out);
  for (int i = 0; i < 32; ++i)
    out[2 + i] = static_cast<uint8_t>(static_cast<int>(std::round(x[i] * inverse)));
}

// ---- scale and minimum: x ≈ scale * code - minimum, codes 0 … most

constexpr Search kFourBits{15, -1.0f, 0.1f, 20}, kFiveBits{31, -0.5f, 0.1f, 15};

// Eight scales and minima → 12 bytes (dequantize.cc: k_scales).
void pack_scales(const uint8_t scales[8], const uint8_t minima[8], uint8_t* out) {
  for (int i = 0; i < 4; ++i) {
    out[i] = static_cast<uint8_t>(scales[i] | scales[4 + i] >> 4 << 6);
    out[4 + i] = static_cast<uint8_t>(minima[i] | minima[4 + i] >> 4 << 6);
    out[8 + i] = static_cast<uint8_t>((scales[4 + i] & 15) | (minima[4 + i] & 15) << 4);
  }
}

// Of Q4_K and Q5_K: writes d, dmin and the scales, and gives the codes of 256 weights.
void quantize_with_minima(const float* x, const Search& search, uint8_t* out, uint8_t* codes) {
  float scales[8], minima[8];
  for (int s = 0; s < 8; ++s) {
    const float* group = x + 32 * s;
    float squares = 0, weight[32];
    for (int i = 0; i < 32; ++i) squares += group[i] * group[i];
    const float typical = std::sqrt(squares / 32);
    for (int i = 0; i < 32; ++i) weight[i] = typical + std::fabs(group[i]);
    const ScaleAndMinimum found = search_line(group, weight, search, codes + 32 * s);
    scales[s] = found.scale;
    minima[s] = found.minimum;
  }
  const float most_scale = std::max(0.0f, *std::max_element(scales, scales + 8));
  const float most_minimum = std::max(0.0f, *std::max_element(minima, minima + 8));
  const auto in_six_bits = [](const float* values, float most, uint8_t* to) {
    const float inverse = most > 0 ? 63.0f / most : 0.0f;
    for (int s = 0; s < 8; ++s)
      to[s] = static_cast<uint8_t>(
          std::min<uint8_t>(63, static_cast<uint8_t>(nearest(inverse * values[s]))));
  };
  uint8_t scale_codes[8], minimum_codes[8];
  in_six_bits(scales, most_scale, scale_codes);
  in_six_bits(minima, most_minimum, minimum_codes);
  put_half(most_scale / 63.0f, out);
  put_half(most_minimum / 63.0f, out + 2);
  pack_scales(scale_codes, minimum_codes, out + 4);
  // The codes once more, for the scales as they are stored.
  const float d = rounded_to_half(most_scale / 63.0f), dmin = rounded_to_half(most_minimum / 63.0f);
  for (int s = 0; s < 8; ++s) {
    const float scale = d * static_cast<float>(scale_codes[s]);
    const float minimum = dmin * static_cast<float>(minimum_codes[s]);
    if (scale == 0) continue;
    for (int i = 32 * s; i < 32 * (s + 1); ++i)
      codes[i] =
          static_cast<uint8_t>(std::clamp(nearest((x[i] + minimum) / scale), 0, search.most));
  }
}

void q4_k(const float* x, uint8_t* out) {
  uint8_t codes[256];
  quantize_with_minima(x, kFourBits, out, codes);
  for (int i = 0; i < 128; ++i) {
    const uint8_t* at = codes + i / 32 * 64 + i % 32;
    out[16 + i] = static_cast<uint8_t>(at[0] | at[32] << 4);
  }
}

void q5_k(const float* x, uint8_t* out) {
  uint8_t codes[256];
  quantize_with_minima(x, kFiveBits, out, codes);
  std::fill_n(out + 16, 32, uint8_t{0});
  for (int i = 0; i < 256; ++i)
    out[16 + i % 32] = static_cast<uint8_t>(out[16 + i % 32] | codes[i] >> 4 << (i / 32));
  for (int i = 0; i < 128; ++i) {
    const uint8_t* at = codes + i / 32 * 64 + i % 32;
    out[48 + i] = static_cast<uint8_t>((at[0] & 15) | (at[32] & 15) << 4);
  }
}

// ---- scale alone: x ≈ scale * (code - 32), codes 0 … 63

void q6_k(const float* x, uint8_t* out) {
  uint8_t codes[256];
  float scales[16];
  for (int s = 0; s < 16; ++s) scales[s] = search_scale(x + 16 * s, codes + 16 * s);
  const float most = extreme(scales, 16);
  std::fill_n(out, 210, uint8_t{0});
  if (std::fabs(most) < kNothing) return;
  const float inverse = -128.0f / most;
  put_half(1.0f / inverse, out + 208);
  const float d = rounded_to_half(1.0f / inverse);
  for (int s = 0; s < 16; ++s) {
    const int code = std::min(127, nearest(inverse * scales[s]));
    out[192 + s] = static_cast<uint8_t>(static_cast<int8_t>(code));
    const float scale = d * static_cast<float>(code);
    if (scale == 0) continue;
    for (int i = 16 * s; i < 16 * (s + 1); ++i)
      codes[i] = static_cast<uint8_t>(std::clamp(nearest(x[i] / scale), -32, 31) + 32);
  }
  for (int i = 0; i < 256; ++i) {
    uint8_t& low = out[i / 128 * 64 + i % 64];
    low = static_cast<uint8_t>(low | (codes[i] & 15) << (i % 128 / 64 * 4));
    uint8_t& high = out[128 + i / 128 * 32 + i % 32];
    high = static_cast<uint8_t>(high | codes[i] >> 4 << (i % 128 / 32 * 2));
  }
}

void f32(const float* x, uint8_t* out) {
  std::memcpy(out, x, sizeof(float));
}
void f16(const float* x, uint8_t* out) {
  put_half(*x, out);
}

using GroupWriter = void (*)(const float* x, uint8_t* out);

GroupWriter group_writer(Format format) {
  switch (format) {
    case Format::kF32:
      return f32;
    case Format::kF16:
      return f16;
    case Format::kQ8_0:
      return q8_0;
    case Format::kQ4_0:
      return q4_0;
    case Format::kQ4_K:
      return q4_k;
    case Format::kQ5_K:
      return q5_k;
    case Format::kQ6_K:
      return q6_k;
    default:
      return nullptr;
  }
}

}  // namespace

bool can_quantize(Format format) {
  return group_writer(format) != nullptr;
}

void quantize_row(Format format, const float* x, int64_t cols, std::byte* out) {
  const FormatInfo* info = format_info(format);
  PAWL_CHECK(info != nullptr && can_quantize(format) && cols % info->group == 0);
  const GroupWriter write = group_writer(format);
  auto* group = reinterpret_cast<uint8_t*>(out);
  for (int64_t i = 0; i < cols; i += info->group, group += info->group_bytes) write(x + i, group);
}

}  // namespace pawl::kernels
