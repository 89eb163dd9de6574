// SPDX-License-Identifier: Apache-2.0
// A model's sizes and properties: a row of architectures.cc joined with the metadata of a file.
// forward.cc asks these properties and never the architecture's name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "gguf/reader.h"
#include "model/architectures.h"
#include "model/rope.h"

namespace pawl::model {

struct LayerConfig {
  int kv_heads = 0;
  int64_t window = 0;  // positions a query sees, itself included; 0: all before it
  int rope = 0;        // index of ModelConfig::ropes
};

struct ModelConfig {
  const Architecture* architecture = nullptr;
  int width = 0;         // of the residual stream
  int heads = 0;         // query heads
  int head_dim = 0;      // of q and k
  int value_dim = 0;     // of v
  int feed_forward = 0;  // hidden size
  int vocabulary = 0;
  int64_t context_length = 0;  // positions the model was trained for
  float norm_epsilon = 0;
  float embedding_scale = 1.0f;
  float attention_scale = 0;
  float attention_cap = 0;  // soft cap of attention scores, 0: none
  float logit_cap = 0;      // soft cap of logits, 0: none
  std::vector<LayerConfig> layers;
  std::vector<RopeConfig> ropes;

  int max_kv_heads() const;
};

// Errors name the key that is missing, misshapen or out of range; an architecture without a row is
// kUnsupported.
base::Result<ModelConfig> read_config(const gguf::File& file);

}  // namespace pawl::model
