// SPDX-License-Identifier: Apache-2.0
// Vec for AVX2 with FMA and F16C: two registers. What each name means stands in scalar_vec.h.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace pawl::kernels {
namespace {

using Half = uint16_t;

constexpr int kLanes = 16;
constexpr int kPassRows = 6;
constexpr int kPassVecs = 1;

struct Vec {
  __m256 low, high;
};

// All bits set in the lanes of the upper or lower eight whose number is below n.
inline __m256i below(int n, int first) {
  const __m256i lane =
      _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(first));
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane);
}
inline __m256 blend(__m256 otherwise, __m256 chosen, __m256i mask) {
  return _mm256_blendv_ps(otherwise, chosen, _mm256_castsi256_ps(mask));
}

inline Vec broadcast(float value) {
  return {_mm256_set1_ps(value), _mm256_set1_ps(value)};
}

inline Vec load(const float* from) {
  return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
}
inline __m256 load_eight(const int8_t* from) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}
inline Vec load(const int8_t* from) {
  return {load_eight(from), load_eight(from + 8)};
}
inline __m256 load_eight(const Half* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline Vec load(const Half* from) {
  return {load_eight(from), load_eight(from + 8)};
}
inline Vec load_partial(const float* from, int n, float fill) {
  const __m256i low = below(n, 0), high = below(n, 8);
  const __m256 otherwise = _mm256_set1_ps(fill);
  return {blend(otherwise, _mm256_maskload_ps(from, low), low),
          blend(otherwise, n > 8 ? _mm256_maskload_ps(from + 8, high) : otherwise, high)};
}
inline Vec load_partial(const Half* from, int n, float fill) {
  Half halves[kLanes] = {};
  __builtin_memcpy(halves, from, sizeof(Half) * static_cast<size_t>(n));
  const Vec v = load(halves);
  const __m256 otherwise = _mm256_set1_ps(fill);
  return {blend(otherwise, v.low, below(n, 0)), blend(otherwise, v.high, below(n, 8))};
}
inline void store(float* to, Vec a) {
  _mm256_storeu_ps(to, a.low);
  _mm256_storeu_ps(to + 8, a.high);
}
inline void store_partial(float* to, int n, Vec a) {
  _mm256_maskstore_ps(to, below(n, 0), a.low);
  if (n > 8) _mm256_maskstore_ps(to + 8, below(n, 8), a.high);
}
inline void store_partial(Half* to, int n, Vec a) {
  Half halves[kLanes];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(halves),
                   _mm256_cvtps_ph(a.low, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(halves + 8),
                   _mm256_cvtps_ph(a.high, _MM_FROUND_TO_NEAREST_INT));
  __builtin_memcpy(to, halves, sizeof(Half) * static_cast<size_t>(n));
}

inline Vec add(Vec a, Vec b) {
  return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}
inline Vec sub(Vec a, Vec b) {
  return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}
inline Vec mul(Vec a, Vec b) {
  return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}
inline Vec div(Vec a, Vec b) {
  return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
}
inline Vec fma(Vec a, Vec b, Vec c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
inline float fma(float a, float b, float c) {
  return _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c)));
}
inline float square_root(float x) {
  return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
}

inline float greater(float a, float b) {
  return a > b ? a : b;
}
inline Vec max(Vec a, Vec b) {
  return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
}
inline Vec min(Vec a, Vec b) {
  return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
}

inline Vec negate(Vec a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_xor_ps(a.low, sign), _mm256_xor_ps(a.high, sign)};
}
inline Vec absolute(Vec a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, a.low), _mm256_andnot_ps(sign, a.high)};
}
inline Vec copy_sign(Vec magnitude, Vec from) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  const Vec m = absolute(magnitude);
  return {_mm256_or_ps(m.low, _mm256_and_ps(sign, from.low)),
          _mm256_or_ps(m.high, _mm256_and_ps(sign, from.high))};
}

inline __m256 scale_eight_by_power(__m256 a, __m256 n) {
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256i power = _mm256_cvtps_epi32(n);
  const __m256i first = _mm256_srai_epi32(power, 1);
  const __m256i second = _mm256_sub_epi32(power, first);
  const __m256 once =
      _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(first, bias), 23)));
  return _mm256_mul_ps(once,
                       _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(second, bias), 23)));
}
inline Vec scale_by_power(Vec a, Vec n) {
  return {scale_eight_by_power(a.low, n.low), scale_eight_by_power(a.high, n.high)};
}

inline Vec select_less(Vec a, Vec b, Vec x, Vec y) {
  return {_mm256_blendv_ps(y.low, x.low, _mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ)),
          _mm256_blendv_ps(y.high, x.high, _mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ))};
}
inline Vec keep_lanes(Vec a, int begin, int end, float fill) {
  const __m256 otherwise = _mm256_set1_ps(fill);
  const __m256i low = _mm256_andnot_si256(below(begin, 0), below(end, 0));
  const __m256i high = _mm256_andnot_si256(below(begin, 8), below(end, 8));
  return {blend(otherwise, a.low, low), blend(otherwise, a.high, high)};
}

inline float reduce_add(Vec a) {
  const __m256 eight = _mm256_add_ps(a.low, a.high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float reduce_max(Vec a) {
  const __m256 eight = _mm256_max_ps(a.low, a.high);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

}  // namespace
}  // namespace pawl::kernels
