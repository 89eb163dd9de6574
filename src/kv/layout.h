// SPDX-License-Identifier: Apache-2.0
// The bytes inside a KV block: B positions of every layer of one sequence.
//   [layers][kv_heads] { K [head_dim][B] | V [B][value_dim] }, each part 64-byte aligned; 8-bit
//   codes
// are followed by their scales.
// K is transposed so that the lanes of a vector are positions; V is not, so that its lanes are
// dimensions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace pawl::kv {

constexpr int kBlockPositions = 32;  // B

// What one layer keeps per position. A layer without a cache has no heads.
struct LayerShape {
  int kv_heads = 0;
  int head_dim = 0;
  int value_dim = 0;
};

class Layout {
 public:
  // Bytes of the keys and of the values of one block whose vectors have `dim` entries; what is in
  // there is the kernels' business.
  using PartBytes = std::function<int64_t(int dim)>;
  Layout(std::span<const LayerShape> layers, const PartBytes& key_bytes,
         const PartBytes& value_bytes);

  int64_t block_bytes() const { return block_bytes_; }
  int64_t k_offset(int layer, int head) const {  // REQUIRES: layer and head exist
    return offsets_[static_cast<size_t>(layer)] + head * head_bytes_[static_cast<size_t>(layer)];
  }
  int64_t v_offset(int layer, int head) const {
    return k_offset(layer, head) + k_bytes_[static_cast<size_t>(layer)];
  }
  // Bytes that one position takes over all layers: what a decode step reads per position of
  // context.
  int64_t position_bytes() const { return position_bytes_; }

 private:
  std::vector<int64_t> offsets_, head_bytes_, k_bytes_;  // per layer
  int64_t block_bytes_ = 0;
  int64_t position_bytes_ = 0;
};

}  // namespace pawl::kv
