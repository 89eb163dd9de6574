// SPDX-License-Identifier: Apache-2.0
// Integer sums without VNNI, over the instruction set V: unsigned codes times signed activations,
// added in pairs to 16 bits. That saturates, so codes are kept where it cannot: small ones run
// until their sum could leave 16 bits, and those of 8 bits give their sign to x (2 * 128 * 127 =
// 32512).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/unrolled-inl.h"

namespace pawl::kernels {
namespace {

// sum + codes [begin, end) times 4 activations each. largest: of the magnitudes of a code; 128 says
// signed codes.
template <class V, int largest, int begin, int end>
PAWL_INLINE inline typename V::Ints maddubs_dot(const typename V::Bytes* codes, const std::byte* x,
                                                typename V::Ints sum) {
  if constexpr (largest == 128) {
    unrolled<end - begin>([&](auto i) PAWL_INLINE {
      const typename V::Bytes code = codes[begin + i];
      const typename V::Bytes signed_x =
          V::with_sign_of(V::broadcast_int(x + 4 * (begin + i)), code);
      sum = V::add_ints(sum, V::add_pairs(V::multiply_pairs(V::magnitude(code), signed_x)));
    });
  } else {
    constexpr int kFit = 32767 / (2 * 127 * largest);  // steps
    constexpr int kRun = kFit >= end - begin ? end - begin : (kFit >= 4 ? 4 : 2);
    static_assert(kFit >= kRun && (end - begin) % kRun == 0);
    unrolled<(end - begin) / kRun>([&](auto run) PAWL_INLINE {
      constexpr int kFirst = begin + decltype(run)::value * kRun;
      typename V::Ints pairs = V::multiply_pairs(codes[kFirst], V::broadcast_int(x + 4 * kFirst));
      unrolled<kRun - 1>([&](auto i) PAWL_INLINE {
        const int step = kFirst + 1 + i;
        pairs =
            V::add_shorts(pairs, V::multiply_pairs(codes[step], V::broadcast_int(x + 4 * step)));
      });
      sum = V::add_ints(sum, V::add_pairs(pairs));
    });
  }
  return sum;
}

}  // namespace
}  // namespace pawl::kernels
