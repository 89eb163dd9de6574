// SPDX-License-Identifier: Apache-2.0
// AVX2 with FMA and F16C: what the matrix products are made of. 8 rows to a vector, two vectors to
// a block.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace pawl::kernels {
namespace {

struct Avx2 {
  using Bytes = __m256i;
  using Ints = __m256i;
  using Floats = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kTokens = 4;
  static constexpr int kF32Blocks = 1;
  static constexpr int kF32Tokens = 4;

  // Makes the compiler take the value for unknown.
  static void forget(Bytes& a) { asm volatile("" : "+x"(a)); }

  // ---- bytes
  static Bytes load(const std::byte* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static Bytes every_byte(int value) { return _mm256_set1_epi8(static_cast<char>(value)); }
  static Bytes both(Bytes a, Bytes b) { return _mm256_and_si256(a, b); }
  static Bytes exclusive_or(Bytes a, Bytes b) { return _mm256_xor_si256(a, b); }
  static Bytes or_masked(Bytes a, Bytes b, Bytes mask) {  // a | (b & mask)
    return _mm256_or_si256(a, _mm256_and_si256(b, mask));
  }
  static Bytes choose_bits(int mask, Bytes a, Bytes b) {  // a where the mask of every byte is 1
    return _mm256_or_si256(_mm256_and_si256(every_byte(mask), a),
                           _mm256_andnot_si256(every_byte(mask), b));
  }
  template <int n>
  static Bytes shift_left(Bytes a) {
    return n == 0 ? a : _mm256_slli_epi16(a, n);
  }
  template <int n>
  static Bytes shift_right(Bytes a) {
    return n == 0 ? a : _mm256_srli_epi16(a, n);
  }
  static Bytes code_book(const int8_t* book, int added) {
    const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(book));
    return _mm256_broadcastsi128_si256(
        _mm_add_epi8(entries, _mm_set1_epi8(static_cast<char>(added))));
  }
  static Bytes look_up(Bytes book, Bytes codes) { return _mm256_shuffle_epi8(book, codes); }
  static Bytes magnitude(Bytes a) { return _mm256_abs_epi8(a); }
  static Bytes with_sign_of(Bytes a, Bytes sign) { return _mm256_sign_epi8(a, sign); }

  // ---- 32 bits of x, in every lane
  static Ints broadcast_int(const std::byte* p) {
    int32_t value;
    __builtin_memcpy(&value, p, 4);
    return _mm256_set1_epi32(value);
  }
  static Floats broadcast(const std::byte* p) { return _mm256_castsi256_ps(broadcast_int(p)); }

  // ---- integers
  static Ints zero_ints() { return _mm256_setzero_si256(); }
  static Ints add_ints(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
  static Ints add_shorts(Ints a, Ints b) { return _mm256_add_epi16(a, b); }
  static Ints add_pairs(Ints a) { return _mm256_madd_epi16(a, _mm256_set1_epi16(1)); }
  static Ints multiply_pairs(Bytes codes, Bytes x) { return _mm256_maddubs_epi16(codes, x); }

  // ---- floats
  static Floats zero() { return _mm256_setzero_ps(); }
  static Floats every_float(float value) { return _mm256_set1_ps(value); }
  static Floats to_floats(Ints a) { return _mm256_cvtepi32_ps(a); }
  static Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
  static Floats fma(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
  static Floats negative(Floats a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.0F)); }
  static Floats floats(const std::byte* p) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(p));
  }
  static __m128i sixteen(const std::byte* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static __m128i eight(const std::byte* p) { return _mm_loadu_si64(p); }
  static Floats halves(const std::byte* p) { return _mm256_cvtph_ps(sixteen(p)); }
  static Floats bfloats(const std::byte* p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(sixteen(p)), 16));
  }
  static Floats unsigned_bytes(const std::byte* p) {
    return to_floats(_mm256_cvtepu8_epi32(eight(p)));
  }
  // 2^(e - 128) of each byte e; the first two are subnormal.
  static Floats powers(const std::byte* p) {
    const __m256i e = _mm256_cvtepu8_epi32(eight(p)), one = _mm256_set1_epi32(1);
    const __m256i small = _mm256_sllv_epi32(_mm256_set1_epi32(0x200000), _mm256_min_epi32(e, one));
    const __m256i large = _mm256_slli_epi32(_mm256_sub_epi32(e, one), 23);
    return _mm256_castsi256_ps(_mm256_max_epi32(small, large));
  }
  static Floats signed_bytes(const std::byte* p) {
    return to_floats(_mm256_cvtepi8_epi32(eight(p)));
  }
  static Floats low_nibbles(const std::byte* p) {
    return to_floats(_mm256_and_si256(_mm256_cvtepu8_epi32(eight(p)), _mm256_set1_epi32(15)));
  }
  static Floats high_nibbles(const std::byte* p) {
    return to_floats(_mm256_srli_epi32(_mm256_cvtepu8_epi32(eight(p)), 4));
  }
  static __m256i first(int rows) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(rows), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Floats load(const float* p, int rows) { return _mm256_maskload_ps(p, first(rows)); }
  static void store(float* p, Floats a, int rows) {
    if (rows == kLanes) return _mm256_storeu_ps(p, a);
    _mm256_maskstore_ps(p, first(rows), a);
  }

  // ---- 32 floats to a group of a8
  static int32_t largest_of(__m256i a) {
    __m128i b = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    b = _mm_max_epi32(b, _mm_shuffle_epi32(b, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(b, _mm_shuffle_epi32(b, 0xb1)));
  }
  static int16_t sum_of(__m256i a) {
    __m128i b = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    b = _mm_add_epi32(b, _mm_shuffle_epi32(b, 0x4e));
    return static_cast<int16_t>(_mm_cvtsi128_si32(_mm_add_epi32(b, _mm_shuffle_epi32(b, 0xb1))));
  }
  static void quantize_group(const float* x, std::byte* q, std::byte* scale, std::byte* sums) {
    // Bits of magnitudes are ordered as the magnitudes are, and infinity and NaN stand above all of
    // them.
    const __m256i sign_off = _mm256_set1_epi32(0x7fffffff);
    __m256i largest = _mm256_setzero_si256();
    for (int i = 0; i < 4; ++i) {
      const __m256i bits = _mm256_castps_si256(_mm256_loadu_ps(x + 8 * i));
      largest = _mm256_max_epi32(largest, _mm256_and_si256(bits, sign_off));
    }
    const int32_t amax_bits = largest_of(largest);
    if (amax_bits >= 0x7f800000) return zero_group(q, scale, sums, __builtin_nanf(""));
    float amax;
    __builtin_memcpy(&amax, &amax_bits, 4);
    if (amax < 1e-30F) return zero_group(q, scale, sums, 0.0F);
    const float step = amax / 127.0F;
    const __m256 inverse = _mm256_set1_ps(127.0F / amax);
    __m256i codes[4];
    for (int i = 0; i < 4; ++i) {
      codes[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), inverse));
    }
    // Packing works within halves of 128 bits: dwords come out as 0 2 4 6 1 3 5 7.
    const __m256i packed = _mm256_packs_epi16(_mm256_packs_epi32(codes[0], codes[1]),
                                              _mm256_packs_epi32(codes[2], codes[3]));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(q), _mm256_permutevar8x32_epi32(packed, order));
    const int16_t sum[2] = {sum_of(_mm256_add_epi32(codes[0], codes[1])),
                            sum_of(_mm256_add_epi32(codes[2], codes[3]))};
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
