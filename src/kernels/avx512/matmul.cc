// SPDX-License-Identifier: Apache-2.0
// Matrix products with AVX-512 where VNNI is missing.
#include "kernels/avx512/matmul_vec.h"
#include "kernels/dot_peak-inl.h"
#include "kernels/entries.h"
#include "kernels/maddubs-inl.h"
#include "kernels/matmul_a8-inl.h"
#include "kernels/matmul_f32-inl.h"

namespace pawl::kernels {
namespace {

struct Plain : Avx512 {
  static constexpr bool kSignedCodes = true;
  static constexpr bool kTopOfByte = false;

  static Ints add_ints(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
  static Ints add_shorts(Ints a, Ints b) { return _mm512_add_epi16(a, b); }
  static Ints add_pairs(Ints a) { return _mm512_madd_epi16(a, _mm512_set1_epi16(1)); }
  static Ints multiply_pairs(Bytes codes, Bytes x) { return _mm512_maddubs_epi16(codes, x); }
  // The least that a product takes here: sums of 16 bits; widening them comes once in several
  // steps.
  static Ints dot_step(Ints sum, Bytes codes, Bytes x) {
    return add_shorts(sum, multiply_pairs(codes, x));
  }
  static Bytes magnitude(Bytes a) { return _mm512_abs_epi8(a); }
  static Bytes with_sign_of(Bytes a, Bytes sign) {
    return _mm512_mask_sub_epi8(a, _mm512_movepi8_mask(sign), _mm512_setzero_si512(), a);
  }

  template <int largest, int begin, int end>
  PAWL_INLINE static Ints dot(const Bytes* codes, const std::byte* x, Ints sum) {
    return maddubs_dot<Plain, largest, begin, end>(codes, x, sum);
  }

  // low * the sum of the first 16 codes of x + high * that of the second
  template <int low, int high>
  PAWL_INLINE static Ints pair_sum(const std::byte* sums) {
    return _mm512_madd_epi16(broadcast_int(sums), _mm512_set1_epi32(pair<low, high>()));
  }
};

}  // namespace

const MatmulEntries kAvx512Matmul = {quantize_a8<Plain>, matmul_a8<Plain>, matmul_f32<Plain>,
                                     dot_peak<Plain>, true};

}  // namespace pawl::kernels
