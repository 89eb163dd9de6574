// SPDX-License-Identifier: Apache-2.0
// Vec, a vector of 16 floats, in plain C++: the definition the other back ends (avx2/vec.h,
// avx512/vec.h) follow name by name and bit by bit. elementwise-inl.h and attention-inl.h are
// written over it. Include it in one file only: all of it has internal linkage, so that files built
// for different CPUs share no code.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/dequantize.h"

namespace pawl::kernels {
namespace {

using Half = uint16_t;  // the bits of an IEEE half

constexpr int kLanes = 16;
// Registers one pass of attention may keep: rows of queries × vectors of 16 positions or columns.
constexpr int kPassRows = 4;
constexpr int kPassVecs = 1;

struct Vec {
  float lane[kLanes];
};

template <typename F>
inline Vec by_lane(F f) {
  Vec out;
  for (int i = 0; i < kLanes; ++i) out.lane[i] = f(i);
  return out;
}

inline Vec broadcast(float value) {
  return by_lane([&](int) { return value; });
}

// ---- memory; partial: the first n lanes, 0 <= n <= 16, and no byte beyond them is touched
inline Vec load(const float* from) {
  return by_lane([&](int i) { return from[i]; });
}
inline Vec load(const Half* from) {
  return by_lane([&](int i) { return half_to_float(from[i]); });
}
inline Vec load(const int8_t* from) {
  return by_lane([&](int i) { return static_cast<float>(from[i]); });
}
inline Vec load_partial(const float* from, int n, float fill) {
  return by_lane([&](int i) { return i < n ? from[i] : fill; });
}
inline Vec load_partial(const Half* from, int n, float fill) {
  return by_lane([&](int i) { return i < n ? half_to_float(from[i]) : fill; });
}
inline void store(float* to, Vec v) {
  for (int i = 0; i < kLanes; ++i) to[i] = v.lane[i];
}
inline void store_partial(float* to, int n, Vec v) {
  for (int i = 0; i < n; ++i) to[i] = v.lane[i];
}
inline void store_partial(Half* to, int n, Vec v) {
  for (int i = 0; i < n; ++i) to[i] = float_to_half(v.lane[i]);
}

// ---- arithmetic, each operation rounded once
inline Vec add(Vec a, Vec b) {
  return by_lane([&](int i) { return a.lane[i] + b.lane[i]; });
}
inline Vec sub(Vec a, Vec b) {
  return by_lane([&](int i) { return a.lane[i] - b.lane[i]; });
}
inline Vec mul(Vec a, Vec b) {
  return by_lane([&](int i) { return a.lane[i] * b.lane[i]; });
}
inline Vec div(Vec a, Vec b) {
  return by_lane([&](int i) { return a.lane[i] / b.lane[i]; });
}
inline Vec fma(Vec a, Vec b, Vec c) {
  return by_lane([&](int i) { return std::fma(a.lane[i], b.lane[i], c.lane[i]); });
}
inline float fma(float a, float b, float c) {
  return std::fma(a, b, c);
}
inline float square_root(float x) {
  return std::sqrt(x);
}

// a > b ? a : b and a < b ? a : b: where one is NaN, the second
inline float greater(float a, float b) {
  return a > b ? a : b;
}
inline Vec max(Vec a, Vec b) {
  return by_lane([&](int i) { return greater(a.lane[i], b.lane[i]); });
}
inline Vec min(Vec a, Vec b) {
  return by_lane([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}

inline Vec negate(Vec a) {
  return by_lane([&](int i) { return -a.lane[i]; });
}
inline Vec absolute(Vec a) {
  return by_lane([&](int i) { return std::fabs(a.lane[i]); });
}
inline Vec copy_sign(Vec magnitude, Vec sign) {
  return by_lane([&](int i) { return std::copysign(magnitude.lane[i], sign.lane[i]); });
}

// v * 2^n, rounded once. n: whole, -150 <= n <= 128; v: of magnitude between 1/2 and 2. NaN gives
// NaN.
inline Vec scale_by_power(Vec v, Vec n) {
  return by_lane([&](int i) {
    // The power in two factors, so that neither overflows; only the second product can round.
    constexpr float kWhole = 12582912.0f;  // 1.5 * 2^23: adding it puts n into the low bits
    const uint32_t power =
        std::bit_cast<uint32_t>(n.lane[i] + kWhole) - std::bit_cast<uint32_t>(kWhole);
    const auto first = static_cast<uint32_t>(static_cast<int32_t>(power) >> 1);
    const uint32_t second = power - first;
    return v.lane[i] * std::bit_cast<float>((first + 127) << 23) *
           std::bit_cast<float>((second + 127) << 23);
  });
}

// ---- choice
// a < b ? x : y
inline Vec select_less(Vec a, Vec b, Vec x, Vec y) {
  return by_lane([&](int i) { return a.lane[i] < b.lane[i] ? x.lane[i] : y.lane[i]; });
}
// Lanes [begin, end) of v, fill elsewhere
inline Vec keep_lanes(Vec v, int begin, int end, float fill) {
  return by_lane([&](int i) { return begin <= i && i < end ? v.lane[i] : fill; });
}

// ---- across lanes, 8, 4, 2, 1 apart
inline float reduce_add(Vec v) {
  for (int apart = kLanes / 2; apart > 0; apart /= 2) {
    for (int i = 0; i < apart; ++i) v.lane[i] += v.lane[i + apart];
  }
  return v.lane[0];
}
inline float reduce_max(Vec v) {
  for (int apart = kLanes / 2; apart > 0; apart /= 2) {
    for (int i = 0; i < apart; ++i) v.lane[i] = greater(v.lane[i], v.lane[i + apart]);
  }
  return v.lane[0];
}

}  // namespace
}  // namespace pawl::kernels
