// SPDX-License-Identifier: Apache-2.0
// Every entry that is not a matrix product, for this instruction set.
#include "kernels/avx512/vec.h"

#include "kernels/vector_entries-inl.h"  // after vec.h

namespace pawl::kernels {

const VectorEntries kAvx512Vector = kVectorEntries;

}  // namespace pawl::kernels
