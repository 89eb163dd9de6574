// SPDX-License-Identifier: Apache-2.0
#include "kv/layout.h"

namespace pawl::kv {
namespace {

int64_t align64(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

}  // namespace

Layout::Layout(std::span<const LayerShape> layers, const PartBytes& key_bytes,
               const PartBytes& value_bytes) {
  int64_t offset = 0;
  for (const LayerShape& layer : layers) {
    const int64_t k_part = key_bytes(layer.head_dim), v_part = value_bytes(layer.value_dim);
    const int64_t k = align64(k_part), v = align64(v_part);
    offsets_.push_back(offset);
    k_bytes_.push_back(k);
    head_bytes_.push_back(k + v);
    offset += layer.kv_heads * (k + v);
    position_bytes_ += int64_t{layer.kv_heads} * (k_part + v_part) / kBlockPositions;
  }
  block_bytes_ = offset;
}

}  // namespace pawl::kv
