// SPDX-License-Identifier: Apache-2.0
// For tests and benchmarks: the sets of vector entries this machine can run, the scalar one first.
#pragma once

#include <string>
#include <vector>

#include "kernels/cpu.h"
#include "kernels/entries.h"

namespace pawl::kernels {

struct VectorVariant {
  std::string name;
  const VectorEntries* entries;
};

inline std::vector<VectorVariant> vector_variants() {
  std::vector<VectorVariant> variants = {{"scalar", &kScalarVector}};
#if defined(__x86_64__)
  if (cpu_features().avx2) variants.push_back({"avx2", &kAvx2Vector});
  if (cpu_features().avx512) variants.push_back({"avx512", &kAvx512Vector});
#endif
  return variants;
}

}  // namespace pawl::kernels
