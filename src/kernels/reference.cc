// SPDX-License-Identifier: Apache-2.0
// The scalar definition of every entry that is not a matrix product.
#include <algorithm>

#include "kernels/scalar_vec.h"

#include "kernels/vector_entries-inl.h"  // after vec.h

namespace pawl::kernels {

const VectorEntries kScalarVector = kVectorEntries;

int64_t attention_scratch_bytes(int head_dim, int value_dim) {
  const int64_t groups = kv_groups(std::max(head_dim, value_dim));
  const int64_t bytes =
      static_cast<int64_t>(sizeof(AttentionScratch)) +
      static_cast<int64_t>(sizeof(float)) * (kAttentionRows * value_dim + groups * kKvBlock);
  return (bytes + 63) / 64 * 64;
}

}  // namespace pawl::kernels
