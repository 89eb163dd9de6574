// SPDX-License-Identifier: Apache-2.0
// Matrix products with AVX2.
#include "kernels/avx2/matmul_vec.h"
#include "kernels/dot_peak-inl.h"
#include "kernels/entries.h"
#include "kernels/maddubs-inl.h"
#include "kernels/matmul_a8-inl.h"
#include "kernels/matmul_f32-inl.h"

namespace pawl::kernels {
namespace {

struct Avx2Matmul : Avx2 {
  static constexpr bool kSignedCodes = true;
  static constexpr bool kTopOfByte = false;

  // The least that a product takes here: sums of 16 bits; widening them comes once in several
  // steps.
  static Ints dot_step(Ints sum, Bytes codes, Bytes x) {
    return add_shorts(sum, multiply_pairs(codes, x));
  }

  template <int largest, int begin, int end>
  PAWL_INLINE static Ints dot(const Bytes* codes, const std::byte* x, Ints sum) {
    return maddubs_dot<Avx2Matmul, largest, begin, end>(codes, x, sum);
  }

  // low * the sum of the first 16 codes of x + high * that of the second
  template <int low, int high>
  PAWL_INLINE static Ints pair_sum(const std::byte* sums) {
    constexpr uint32_t kPair = static_cast<uint32_t>(low & 0xffff) | static_cast<uint32_t>(high)
                                                                         << 16;
    return _mm256_madd_epi16(broadcast_int(sums), _mm256_set1_epi32(static_cast<int32_t>(kPair)));
  }
};

}  // namespace

const MatmulEntries kAvx2Matmul = {quantize_a8<Avx2Matmul>, matmul_a8<Avx2Matmul>,
                                   matmul_f32<Avx2Matmul>, dot_peak<Avx2Matmul>, false};

}  // namespace pawl::kernels
