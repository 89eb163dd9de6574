// SPDX-License-Identifier: Apache-2.0
// Every entry that is not a matrix product, for this instruction set.
#include "kernels/avx2/vec.h"

#include "kernels/vector_entries-inl.h"  // after vec.h

namespace pawl::kernels {

const VectorEntries kAvx2Vector = kVectorEntries;

}  // namespace pawl::kernels
