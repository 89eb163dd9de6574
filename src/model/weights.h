// SPDX-License-Identifier: Apache-2.0
// The weights of a model in the form the kernels read: matrices packed, vectors as floats. One
// resident copy: what was packed is released from the file's mapping.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "base/task_pool.h"
#include "gguf/reader.h"
#include "kernels/packed.h"
#include "model/config.h"

namespace pawl::model {

// [rows, cols], packed in row-blocks of 16 (kernels/packed.h). Absent: packed is null.
struct Matrix {
  kernels::Format format = kernels::Format::kF32;
  int64_t rows = 0, cols = 0;
  int64_t block_bytes = 0;
  const std::byte* packed = nullptr;

  int64_t row_blocks() const {
    return (rows + kernels::kRowsPerBlock - 1) / kernels::kRowsPerBlock;
  }
  // Bytes a product has to read.
  int64_t bytes() const { return row_blocks() * block_bytes; }
};

using Vector = std::vector<float>;  // empty: absent

struct LayerWeights {
  Vector attention_norm;  // [width]
  Matrix q, k,
      v;  // [heads * head_dim, width], [kv_heads * head_dim, width], [kv_heads * value_dim, width]
  Vector q_bias, k_bias, v_bias;
  Vector q_norm, k_norm;          // [head_dim]
  Matrix output;                  // [width, heads * value_dim]
  Vector attention_post_norm;     // [width]
  Vector feed_forward_norm;       // [width]
  Matrix gate, up;                // [feed_forward, width]
  Matrix down;                    // [width, feed_forward]
  Vector feed_forward_post_norm;  // [width]
};

struct Weights {
  Matrix output;  // [vocabulary, width]; also the embedding where `embedding` is null
  const gguf::TensorView* embedding = nullptr;  // read from the file row by row
  Vector output_norm;                           // [width]
  Vector rope_factors;                          // [rotary / 2] or empty
  std::vector<LayerWeights> layers;
  base::Arena arena;
};

// Finds, checks and packs every tensor. Sets config.vocabulary. Errors name the tensor that is
// missing, misshapen or of a format without kernels. `unused` receives the names of tensors that
// nothing here reads.
base::Result<Weights> load_weights(const gguf::File& file, ModelConfig& config,
                                   base::TaskPool& pool, std::vector<std::string>& unused);

}  // namespace pawl::model
