// SPDX-License-Identifier: Apache-2.0
// What this CPU can do and this operating system lets programs use.
#pragma once

namespace pawl::kernels {

struct CpuFeatures {
  bool avx2 = false;        // with FMA and F16C
  bool avx512 = false;      // F, BW, DQ, VL; never without avx2
  bool avx512vnni = false;  // never without avx512
};

CpuFeatures cpu_features();

}  // namespace pawl::kernels
