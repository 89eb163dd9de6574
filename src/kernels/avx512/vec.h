// SPDX-License-Identifier: Apache-2.0
// Vec for AVX-512 (F, BW, DQ, VL): one register. What each name means stands in scalar_vec.h.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

// g++ 12 warns of the undefined registers inside its own intrinsics.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace pawl::kernels {
namespace {

using Half = uint16_t;

constexpr int kLanes = 16;
constexpr int kPassRows = 12;
constexpr int kPassVecs = 2;

struct Vec {
  __m512 v;
};

inline __mmask16 first_lanes(int n) {
  return static_cast<__mmask16>((1u << n) - 1);
}

inline Vec broadcast(float value) {
  return {_mm512_set1_ps(value)};
}

inline Vec load(const float* from) {
  return {_mm512_loadu_ps(from)};
}
inline Vec load(const Half* from) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)))};
}
inline Vec load(const int8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes))};
}
inline Vec load_partial(const float* from, int n, float fill) {
  return {_mm512_mask_loadu_ps(_mm512_set1_ps(fill), first_lanes(n), from)};
}
inline Vec load_partial(const Half* from, int n, float fill) {
  const __m512 v = _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n), from));
  return {_mm512_mask_blend_ps(first_lanes(n), _mm512_set1_ps(fill), v)};
}
inline void store(float* to, Vec a) {
  _mm512_storeu_ps(to, a.v);
}
inline void store_partial(float* to, int n, Vec a) {
  _mm512_mask_storeu_ps(to, first_lanes(n), a.v);
}
inline void store_partial(Half* to, int n, Vec a) {
  const __m256i halves = _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  _mm256_mask_storeu_epi16(to, first_lanes(n), halves);
}

inline Vec add(Vec a, Vec b) {
  return {_mm512_add_ps(a.v, b.v)};
}
inline Vec sub(Vec a, Vec b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
inline Vec mul(Vec a, Vec b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
inline Vec div(Vec a, Vec b) {
  return {_mm512_div_ps(a.v, b.v)};
}
inline Vec fma(Vec a, Vec b, Vec c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
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
  return {_mm512_max_ps(a.v, b.v)};
}
inline Vec min(Vec a, Vec b) {
  return {_mm512_min_ps(a.v, b.v)};
}

inline Vec negate(Vec a) {
  return {_mm512_xor_ps(a.v, _mm512_set1_ps(-0.0f))};
}
inline Vec absolute(Vec a) {
  return {_mm512_andnot_ps(_mm512_set1_ps(-0.0f), a.v)};
}
inline Vec copy_sign(Vec magnitude, Vec sign) {
  return {_mm512_or_ps(_mm512_andnot_ps(_mm512_set1_ps(-0.0f), magnitude.v),
                       _mm512_and_ps(_mm512_set1_ps(-0.0f), sign.v))};
}
inline Vec scale_by_power(Vec a, Vec n) {
  return {_mm512_scalef_ps(a.v, n.v)};
}

inline Vec select_less(Vec a, Vec b, Vec x, Vec y) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), y.v, x.v)};
}
inline Vec keep_lanes(Vec a, int begin, int end, float fill) {
  if (begin < 0) begin = 0;
  if (end > kLanes) end = kLanes;
  if (begin >= end) return broadcast(fill);
  const auto kept = static_cast<__mmask16>(first_lanes(end) & ~first_lanes(begin));
  return {_mm512_mask_blend_ps(kept, _mm512_set1_ps(fill), a.v)};
}

inline __m256 upper_half(__m512 a) {
  return _mm512_extractf32x8_ps(a, 1);
}
inline __m256 lower_half(__m512 a) {
  return _mm512_castps512_ps256(a);
}
inline float reduce_add(Vec a) {
  const __m256 eight = _mm256_add_ps(lower_half(a.v), upper_half(a.v));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float reduce_max(Vec a) {
  const __m256 eight = _mm256_max_ps(lower_half(a.v), upper_half(a.v));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

}  // namespace
}  // namespace pawl::kernels
