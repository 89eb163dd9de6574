// SPDX-License-Identifier: Apache-2.0
// Matrix products with AVX-512 VNNI: one instruction multiplies four unsigned codes of 16 rows by
// four activations.
#include "kernels/avx512/matmul_vec.h"
#include "kernels/dot_peak-inl.h"
#include "kernels/entries.h"
#include "kernels/matmul_a8-inl.h"
#include "kernels/matmul_f32-inl.h"

namespace pawl::kernels {
namespace {

struct Vnni : Avx512 {
  static constexpr bool kSignedCodes = false;
  static constexpr bool kTopOfByte = true;

  static Ints dot_step(Ints sum, Bytes codes, Bytes x) {
    return _mm512_dpbusd_epi32(sum, codes, x);
  }

  static Ints add_ints(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
  template <int n>
  static Ints divide_by_power(Ints a) {  // by 2^n, that a is a multiple of
    return _mm512_srai_epi32(a, n);
  }

  template <int largest, int begin, int end>
  PAWL_INLINE static Ints dot(const Bytes* codes, const std::byte* x, Ints sum) {
    unrolled<end - begin>([&](auto i) PAWL_INLINE {
      // Written out, for the compiler splits the broadcast off: an instruction and a register more.
      asm("vpdpbusd %2%{1to16%}, %1, %0"
          : "+v"(sum)
          : "v"(codes[begin + i]), "m"(*reinterpret_cast<const int32_t*>(x + 4 * (begin + i))));
    });
    return sum;
  }

  // low * the sum of the first 16 codes of x + high * that of the second
  template <int low, int high>
  PAWL_INLINE static Ints pair_sum(const std::byte* sums) {
    return _mm512_dpwssd_epi32(zero_ints(), broadcast_int(sums),
                               _mm512_set1_epi32(pair<low, high>()));
  }
};

}  // namespace

const MatmulEntries kAvx512VnniMatmul = {quantize_a8<Vnni>, matmul_a8<Vnni>, matmul_f32<Vnni>,
                                         dot_peak<Vnni>, true};

}  // namespace pawl::kernels
