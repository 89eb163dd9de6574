// SPDX-License-Identifier: Apache-2.0
// The peak of the instruction set V: nothing but its step of a dot product, on registers. No
// product of matrices can be faster, so this is what their speed is measured against.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/unrolled-inl.h"

namespace pawl::kernels {
namespace {

// V::dot_step adds, to the sums, the products of two vectors of 8-bit numbers. Enough independent
// sums hide its latency, and they, the codes and the activations fit into 16 registers.
template <class V>
int64_t dot_peak(int64_t turns) {
  constexpr int kSums = 12;
  typename V::Ints sums[kSums];
  for (typename V::Ints& sum : sums) sum = V::zero_ints();
  typename V::Bytes codes = V::every_byte(3);
  const typename V::Bytes x = V::every_byte(2);
  for (int64_t turn = 0; turn < turns; ++turn) {
    unrolled<kSums>([&](auto i) PAWL_INLINE {
      V::forget(codes);  // else one product would do for all sums
      sums[i] = V::dot_step(sums[i], codes, x);
    });
  }
  for (typename V::Ints& sum : sums) V::forget(sum);
  return turns * kSums * 2 * static_cast<int64_t>(sizeof(codes));
}

}  // namespace
}  // namespace pawl::kernels
