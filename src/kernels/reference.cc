// SPDX-License-Identifier: Apache-2.0
// The scalar definition of every entry that is not a matrix product, and the memory attention
// needs.
#include "kernels/scalar_vec.h"

#include "kernels/elementwise-inl.h"

#include "kernels/attention-inl.h"

#include "kernels/vector_entries-inl.h"

namespace pawl::kernels {

const VectorEntries kScalarVector = kVectorEntries;

int64_t attention_scratch_bytes(int /*head_dim*/, int value_dim) {
  const int64_t bytes = static_cast<int64_t>(sizeof(AttentionScratch)) +
                        static_cast<int64_t>(sizeof(float)) * kAttentionRows * value_dim;
  return (bytes + 63) / 64 * 64;
}

}  // namespace pawl::kernels
