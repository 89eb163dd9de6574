// SPDX-License-Identifier: Apache-2.0
// The weights of a model in the form the kernels read: matrices packed, vectors as floats. One
// resident copy: what was packed is released from the file's mapping.
#pragma once

#include <string>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "base/task_pool.h"
#include "gguf/reader.h"
#include "model/adapter.h"
#include "model/config.h"
#include "model/packing.h"
#include "model/tensors.h"

namespace pawl::model {

// down · (activation(gate · x) * (up · x)); without a gate down · activation(up · x).
struct FeedForward {
  Matrix gate, up;  // [hidden, width]
  Matrix down;      // [width, hidden]
  Vector gate_bias, up_bias, down_bias;
};

// The feed-forward of a layer with experts.
struct Experts {
  Matrix router;          // [experts, width]
  Vector router_bias;     // [experts]
  Vector selection_bias;  // [experts], added only where the experts are selected
  std::vector<FeedForward> all;
  FeedForward shared;  // runs for every token; absent: its matrices are
  Vector shared_gate;  // [width]: its part is times sigmoid(shared_gate · x)
};

// Latent attention (arXiv 2405.04434 §2.1): keys and values of all heads are made of one short
// vector, the latent; a part of the keys is rotated instead and shared by all heads.
struct LatentAttention {
  Matrix query_down;   // [query_rank, width]; absent where queries come straight from the input
  Vector query_norm;   // [query_rank]
  Matrix query;        // [heads * key_dim, query_rank or width]
  Matrix latent;       // [rank, width]
  Vector latent_norm;  // [rank]
  Matrix rotated_key;  // [rotary, width]
  // Where the cache holds keys and values: a head's keys, then its values, head after head.
  Matrix keys_and_values;  // [heads * (key_dim - rotary + value_dim), rank]
  // Where it holds the latent, per head: what takes a query to the latent, and the latent to a
  // value.
  std::vector<Matrix> query_up;  // [rank, key_dim - rotary]
  std::vector<Matrix> value_up;  // [value_dim, rank]
};

// A layer with a state; what a kind has stands in its layer_<kind>.cc.
struct StateWeights {
  Matrix in;          // [channels, width]
  Matrix gate;        // [inner, width]; short convolution: [width, width]
  Matrix entry;       // short convolution: [width, width]
  Vector taps;        // [taps, channels]
  Vector taps_bias;   // [channels]
  Matrix step_down;   // Mamba: [step_rank, inner]
  Matrix write_read;  // Mamba: [2 * states, inner]
  Matrix step;        // Mamba: [inner, step_rank]; Mamba-2, delta net: [heads, width]
  Matrix beta;        // delta net: [heads, width]
  Vector step_bias;   // [inner] or [heads]
  Vector rates;       // Mamba: [states, inner], else [heads]; below 0
  Vector direct;      // what passes by the states: Mamba [inner], Mamba-2 [heads]
  Vector norm;        // Mamba-2: [inner], by groups; delta net: [head_dim], for each head
  Matrix out;         // [width, inner or width]
};

struct LayerWeights {
  Vector attention_norm, attention_norm_bias;  // [width]
  Matrix q, k, v;  // [heads * head_dim, width], [kv_heads * head_dim, width], [kv_heads *
                   // value_dim, width]
  Vector q_bias, k_bias, v_bias;
  Vector q_norm, k_norm;   // as QkNorm says: [head_dim], [heads, head_dim] or [heads * head_dim]
  Matrix attention_gate;   // [heads * value_dim, width]
  LatentAttention latent;  // instead of q, k and v
  StateWeights state;      // instead of all of attention
  Vector sinks;            // [heads]: a score that takes part in the softmax and has no value
  Matrix output;           // [width, heads * value_dim]
  Vector output_bias;      // [width]
  Vector attention_post_norm;                        // [width]
  Vector feed_forward_norm, feed_forward_norm_bias;  // [width]
  FeedForward feed_forward;                          // where the layer has no experts
  Experts experts;
  Vector feed_forward_post_norm;  // [width]
};

struct Weights {
  Matrix output;  // [vocabulary, width]; also the embedding where `embedding` is null
  const gguf::TensorView* embedding = nullptr;   // read from the file row by row
  Vector embedding_norm, embedding_norm_bias;    // [width]
  Vector positions;                              // [learned positions, width]
  Vector output_norm, output_norm_bias;          // [width]
  Vector output_bias;                            // [vocabulary]
  Vector rope_factors;                           // [rotary / 2] or empty
  Vector rope_factors_long, rope_factors_short;  // for contexts beyond the original one, and up to
                                                 // it
  std::vector<LayerWeights> layers;
  std::vector<std::vector<LowRank>> adapters;  // a list for each matrix that has some
  base::Arena arena;
};

// Finds, checks and packs every tensor. Sets config.vocabulary and what else only tensors tell.
// Errors name the tensor that is missing, misshapen or of a format without kernels. `unused`
// receives the names of tensors that nothing here reads. `adapters` need not outlive the call.
base::Result<Weights> load_weights(const gguf::File& file, ModelConfig& config,
                                   base::TaskPool& pool, const AdapterFiles& adapters,
                                   bool split_output, std::vector<std::string>& unused);

}  // namespace pawl::model
