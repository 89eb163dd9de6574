// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace pawl::kernels {

#if defined(__x86_64__)
namespace {

bool has_bit(uint32_t word, int bit) {
  return ((word >> bit) & 1) != 0;
}

// XCR0: the register states that the operating system saves and restores (Intel SDM vol. 1, 13.3).
uint64_t saved_states() {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

}  // namespace

CpuFeatures cpu_features() {
  CpuFeatures features;
  uint32_t a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return features;
  const bool has_osxsave = has_bit(c, 27);
  const bool has_vex = has_bit(c, 28) && has_bit(c, 12) && has_bit(c, 29);  // AVX, FMA, F16C
  if (!has_osxsave || !has_vex || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return features;
  constexpr uint64_t kYmm = 0x06;         // SSE and AVX state
  constexpr uint64_t kZmm = 0xe0 | kYmm;  // also mask registers and both parts of the 512-bit state
  const uint64_t states = saved_states();
  features.avx2 = (states & kYmm) == kYmm && has_bit(b, 5);
  features.avx512 = features.avx2 && (states & kZmm) == kZmm && has_bit(b, 16) && has_bit(b, 17) &&
                    has_bit(b, 30) && has_bit(b, 31);
  features.avx512vnni = features.avx512 && has_bit(c, 11);
  return features;
}

#else

CpuFeatures cpu_features() {
  return {};
}

#endif

}  // namespace pawl::kernels
