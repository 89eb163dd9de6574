// SPDX-License-Identifier: Apache-2.0
// AVX-512 F, BW, VL, DQ: what both variants of the matrix products are made of. 16 rows to a
// vector.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace pawl::kernels {
namespace {

struct Avx512 {
  using Bytes = __m512i;
  using Ints = __m512i;
  using Floats = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kTokens = 16;
  static constexpr int kF32Blocks = 2;
  static constexpr int kF32Tokens = 8;

  // Makes the compiler take the value for unknown.
  static void forget(Bytes& a) { asm volatile("" : "+x"(a)); }

  // ---- bytes
  static Bytes load(const std::byte* p) { return _mm512_loadu_si512(p); }
  static Bytes every_byte(int value) { return _mm512_set1_epi8(static_cast<char>(value)); }
  static Bytes both(Bytes a, Bytes b) { return _mm512_and_si512(a, b); }
  static Bytes exclusive_or(Bytes a, Bytes b) { return _mm512_xor_si512(a, b); }
  static Bytes or_masked(Bytes a, Bytes b, Bytes mask) {  // a | (b & mask)
    return _mm512_ternarylogic_epi32(a, b, mask, 0xf8);
  }
  static Bytes choose_bits(int mask, Bytes a, Bytes b) {  // a where the mask of every byte is 1
    return _mm512_ternarylogic_epi32(every_byte(mask), a, b, 0xca);
  }
  template <int n>
  static Bytes shift_left(Bytes a) {
    return n == 0 ? a : _mm512_slli_epi16(a, n);
  }
  template <int n>
  static Bytes shift_right(Bytes a) {
    return n == 0 ? a : _mm512_srli_epi16(a, n);
  }
  static Bytes code_book(const int8_t* book, int added) {
    const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(book));
    return _mm512_broadcast_i32x4(_mm_add_epi8(entries, _mm_set1_epi8(static_cast<char>(added))));
  }
  static Bytes look_up(Bytes book, Bytes codes) { return _mm512_shuffle_epi8(book, codes); }

  // ---- 32 bits of x, in every lane
  static Ints broadcast_int(const std::byte* p) {
    int32_t value;
    __builtin_memcpy(&value, p, 4);
    return _mm512_set1_epi32(value);
  }
  static Floats broadcast(const std::byte* p) { return _mm512_castsi512_ps(broadcast_int(p)); }
  template <int low, int high>
  static constexpr int32_t pair() {
    return static_cast<int32_t>(static_cast<uint32_t>(low & 0xffff) | static_cast<uint32_t>(high)
                                                                          << 16);
  }

  // ---- floats
  static Ints zero_ints() { return _mm512_setzero_si512(); }
  static Floats zero() { return _mm512_setzero_ps(); }
  static Floats every_float(float value) { return _mm512_set1_ps(value); }
  static Floats to_floats(Ints a) { return _mm512_cvtepi32_ps(a); }
  static Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  static Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  static Floats negative(Floats a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0F)); }
  static Floats floats(const std::byte* p) { return _mm512_loadu_ps(p); }
  static Floats halves(const std::byte* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static Floats bfloats(const std::byte* p) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static __m128i sixteen(const std::byte* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static Floats unsigned_bytes(const std::byte* p) {
    return to_floats(_mm512_cvtepu8_epi32(sixteen(p)));
  }
  // 2^(e - 128) of each byte e; the first two are subnormal.
  static Floats powers(const std::byte* p) {
    const __m512i e = _mm512_cvtepu8_epi32(sixteen(p)), one = _mm512_set1_epi32(1);
    const __m512i small = _mm512_sllv_epi32(_mm512_set1_epi32(0x200000), _mm512_min_epi32(e, one));
    const __m512i large = _mm512_slli_epi32(_mm512_sub_epi32(e, one), 23);
    return _mm512_castsi512_ps(_mm512_max_epi32(small, large));
  }
  static Floats signed_bytes(const std::byte* p) {
    return to_floats(_mm512_cvtepi8_epi32(sixteen(p)));
  }
  static Floats low_nibbles(const std::byte* p) {
    return to_floats(_mm512_and_si512(_mm512_cvtepu8_epi32(sixteen(p)), _mm512_set1_epi32(15)));
  }
  static Floats high_nibbles(const std::byte* p) {
    return to_floats(_mm512_srli_epi32(_mm512_cvtepu8_epi32(sixteen(p)), 4));
  }
  static __mmask16 first(int rows) { return static_cast<__mmask16>((1U << rows) - 1); }
  static Floats load(const float* p, int rows) { return _mm512_maskz_loadu_ps(first(rows), p); }
  static void store(float* p, Floats a, int rows) {
    if (rows == kLanes) return _mm512_storeu_ps(p, a);
    _mm512_mask_storeu_ps(p, first(rows), a);
  }

  // ---- 32 floats to a group of a8
  static void quantize_group(const float* x, std::byte* q, std::byte* scale, std::byte* sums) {
    const __m512 low = _mm512_loadu_ps(x), high = _mm512_loadu_ps(x + 16);
    // Bits of magnitudes are ordered as the magnitudes are, and infinity and NaN stand above all of
    // them.
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    const int32_t amax_bits = _mm512_reduce_max_epi32(
        _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(low), magnitude),
                         _mm512_and_si512(_mm512_castps_si512(high), magnitude)));
    if (amax_bits >= 0x7f800000) return zero_group(q, scale, sums, __builtin_nanf(""));
    float amax;
    __builtin_memcpy(&amax, &amax_bits, 4);
    if (amax < 1e-30F) return zero_group(q, scale, sums, 0.0F);
    const float step = amax / 127.0F;
    const __m512 inverse = _mm512_set1_ps(127.0F / amax);
    const __m512i a = _mm512_cvtps_epi32(_mm512_mul_ps(low, inverse));
    const __m512i b = _mm512_cvtps_epi32(_mm512_mul_ps(high, inverse));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(q), _mm512_cvtepi32_epi8(a));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(q + 16), _mm512_cvtepi32_epi8(b));
    const int16_t sum[2] = {static_cast<int16_t>(_mm512_reduce_add_epi32(a)),
                            static_cast<int16_t>(_mm512_reduce_add_epi32(b))};
    __builtin_memcpy(scale, &step, 4);
    __builtin_memcpy(sums, sum, 4);
  }
  static void zero_group(std::byte* q, std::byte* scale, std::byte* sums, float step) {
    __builtin_memset(q, 0, 32);
    __builtin_memcpy(scale, &step, 4);
    __builtin_memset(sums, 0, 4);
  }
};

}  // namespace
}  // namespace pawl::kernels
