// SPDX-License-Identifier: Apache-2.0
#include "kv/layout.h"

namespace pawl::kv {
namespace {

int64_t align64(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

}  // namespace

Layout::Layout(std::span<const LayerShape> layers, int element_bytes) {
  int64_t offset = 0;
  for (const LayerShape& layer : layers) {
    const int64_t k = align64(int64_t{kBlockPositions} * layer.head_dim * element_bytes);
    const int64_t v = align64(int64_t{kBlockPositions} * layer.value_dim * element_bytes);
    offsets_.push_back(offset);
    k_bytes_.push_back(k);
    head_bytes_.push_back(k + v);
    offset += layer.kv_heads * (k + v);
    position_bytes_ += int64_t{layer.kv_heads} * (layer.head_dim + layer.value_dim) * element_bytes;
  }
  block_bytes_ = offset;
}

}  // namespace pawl::kv
