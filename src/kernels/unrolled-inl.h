// SPDX-License-Identifier: Apache-2.0
// Loops whose index is a constant in every turn, so that arrays of vectors live in registers
// whatever the compiler thinks of unrolling.
#pragma once

#define PAWL_INLINE __attribute__((always_inline))

namespace pawl::kernels {
namespace {

template <int N>
struct Constant {
  static constexpr int value = N;
  constexpr operator int() const { return N; }  // NOLINT: implicit on purpose
};

// f(Constant<0>), f(Constant<1>) … f(Constant<N - 1>)
template <int N, class F>
PAWL_INLINE inline void unrolled(const F& f) {
  if constexpr (N > 0) {
    unrolled<N - 1>(f);
    f(Constant<N - 1>());
  }
}

}  // namespace
}  // namespace pawl::kernels
