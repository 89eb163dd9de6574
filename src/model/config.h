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

// Sizes of latent attention (LatentAttention in weights.h). ModelConfig::head_dim, value_dim and
// kv_heads say what the cache holds: keys and values of each head or, absorbed, for all heads
// together the latent with the rotated key as key, and the latent again as value.
struct LatentConfig {
  int query_rank = 0;  // 0: queries come straight from the input
  int rank = 0;
  int rotary = 0;     // the last dimensions of a head's key
  int key_dim = 0;    // of a head, these included
  int value_dim = 0;  // of a head
  bool is_absorbed = false;

  int plain_dim() const { return key_dim - rotary; }  // of the part that is not rotated
};

// Sizes of layers with a state; what a kind does not have is 0.
struct StateConfig {
  int taps = 0;       // of the convolution, the current position's included
  int channels = 0;   // it runs over
  int inner = 0;      // numbers per position before the last product
  int states = 0;     // per channel; delta net: also the size of a key
  int heads = 0;      // that share a rate: Mamba-2, delta net
  int groups = 0;     // Mamba-2: of heads that read and write alike; delta net: key heads
  int step_rank = 0;  // Mamba: of the step sizes
  // Mamba: what the input chooses (steps, what is written, what is read) is normed, without weights
  bool norms_chosen = false;
  int head_dim() const { return heads == 0 ? 0 : inner / heads; }
};

// The most groups that experts may be in.
constexpr int kMaxExpertGroups = 64;

struct LayerConfig {
  Mixer mixer = Mixer::kAttention;
  int kv_heads = 0;
  int64_t window = 0;  // positions a query sees, itself included; 0: all before it
  bool has_experts = false;
  int64_t state_offset = 0;  // in floats, into the state of a sequence
  int rope = 0;              // index of ModelConfig::ropes; -1: q and k are not rotated
};

struct ModelConfig {
  const Architecture* architecture = nullptr;
  int width = 0;      // of the residual stream
  int heads = 0;      // query heads
  int head_dim = 0;   // of q and k
  int value_dim = 0;  // of v
  LatentConfig latent;
  StateConfig state;
  int feed_forward = 0;  // hidden size
  int experts = 0;       // 0: none
  int experts_used = 0;  // by a token
  // Experts are selected among the best groups only; 0: they are not in groups.
  int expert_groups = 0, expert_groups_used = 0;
  int expert_hidden = 0, shared_hidden = 0;  // hidden sizes; 0: no shared expert
  Gating gating = Gating::kSoftmax;
  bool norms_expert_weights = false;
  float expert_scale = 1.0f;  // of the weights, after that
  int vocabulary = 0;
  int64_t context_length = 0;  // positions the model was trained for
  float norm_epsilon = 0;
  float embedding_scale = 1.0f;
  float residual_scale = 1.0f;  // of what attention and feed-forward add
  float logit_scale = 1.0f;     // the factor of all logits
  float attention_scale = 0;
  float attention_cap = 0;        // soft cap of attention scores, 0: none
  float logit_cap = 0;            // soft cap of logits, 0: none
  float qkv_clamp = 0;            // q, k and v are kept within ±this, 0: as they are
  bool is_parallel = false;       // attention and feed-forward start from the same residual stream
  int64_t learned_positions = 0;  // more than these the model cannot be given; 0: no such limit
  std::vector<float> alibi_slopes;  // [heads] or empty
  std::vector<LayerConfig> layers;
  std::vector<RopeConfig> ropes;  // empty: nothing is rotated
  int adapter_rank = 0;           // the largest of any adapter; 0: there are none

  int max_kv_heads() const;
  // Floats that one sequence takes for all layers with a state; 0: there are none.
  int64_t state_floats = 0;
  int64_t rope_pairs() const { return ropes.empty() ? 0 : ropes[0].rotary / 2; }
};

// Errors name the key that is missing, misshapen or out of range; an architecture without a row is
// kUnsupported.
base::Result<ModelConfig> read_config(const gguf::File& file);

}  // namespace pawl::model
