// SPDX-License-Identifier: Apache-2.0
#include "probe/cost.h"

#include <algorithm>

namespace pawl::probe {
namespace {

// Positions that a query at `position` attends to, itself included.
int64_t attended(const model::LayerConfig& layer, int64_t position) {
  return layer.window > 0 ? std::min(position + 1, layer.window) : position + 1;
}

// Of latent attention: what makes queries and what is kept.
int64_t latent_terms(const model::ModelConfig& c) {
  const model::LatentConfig& l = c.latent;
  const int64_t queries = int64_t{c.heads} * l.key_dim;
  int64_t terms = int64_t{c.width} * (l.rank + l.rotary);
  terms += l.query_rank > 0 ? l.query_rank * (c.width + queries) : c.width * queries;
  const int64_t made = l.is_absorbed ? l.plain_dim() : l.plain_dim() + l.value_dim;
  return terms + int64_t{c.heads} * made * l.rank;
}

// Of a layer with a state: the convolution, the states and all its matrices.
int64_t state_terms(const model::ModelConfig& c, model::Mixer mixer) {
  const model::StateConfig& s = c.state;
  const int64_t width = c.width, inner = s.inner;
  const int64_t convolved = int64_t{s.taps} * s.channels;
  switch (mixer) {
    case model::Mixer::kShortConvolution:
      return convolved + 4 * width * width;
    case model::Mixer::kMamba:
      return convolved + 3 * width * inner + 2 * inner * s.step_rank + 2 * inner * s.states +
             2 * inner * s.states;
    case model::Mixer::kMamba2:
      return convolved + width * (2 * inner + s.channels + s.heads) + 2 * inner * s.states;
    case model::Mixer::kDeltaNet:
      return convolved + width * (2 * inner + s.channels + 2 * s.heads) + 3 * inner * s.states;
    case model::Mixer::kAttention:
    case model::Mixer::kLatentAttention:
      break;
  }
  return 0;
}

// Multiply-adds of one layer's matrices for one token: what makes queries, keys and values (or all
// of a layer with a state), and the rest, which in the last layer only tokens with logits go
// through.
int64_t input_terms(const model::ModelConfig& c, const model::LayerConfig& layer) {
  if (model::has_state(layer.mixer)) return state_terms(c, layer.mixer);
  if (layer.mixer == model::Mixer::kLatentAttention) return latent_terms(c);
  const int64_t keys = int64_t{layer.kv_heads} * c.head_dim;
  const int64_t values = int64_t{layer.kv_heads} * c.value_dim;
  return c.width * (int64_t{c.heads} * c.head_dim + keys + values);
}
int64_t output_terms(const model::ModelConfig& c, const model::LayerConfig& layer) {
  const int64_t matrices = c.architecture != nullptr && !c.architecture->has_gate ? 2 : 3;
  const int64_t hidden = layer.has_experts
                             ? int64_t{c.experts_used} * c.expert_hidden + c.shared_hidden
                             : int64_t{c.feed_forward};
  const int64_t rest = c.width * (matrices * hidden + (layer.has_experts ? c.experts : 0));
  if (model::has_state(layer.mixer)) return rest;
  if (layer.mixer == model::Mixer::kLatentAttention) {
    const model::LatentConfig& l = c.latent;
    const int64_t values = int64_t{c.heads} * l.value_dim;
    return rest + values * (c.width + (l.is_absorbed ? l.rank : 0));
  }
  const bool has_gate = c.architecture != nullptr && c.architecture->has_attention_gate;
  return rest + (has_gate ? 2 : 1) * int64_t{c.width} * c.heads * c.value_dim;
}

}  // namespace

WeightBytes weight_bytes(const model::Model& model) {
  const model::Matrix& m = model.weights().output;
  const int64_t errors = m.coarse_errors == nullptr ? 0 : m.rows * int64_t{sizeof(uint16_t)};
  return {.layers = model.step_weight_bytes() - m.bytes(),
          .output = m.bytes(),
          .coarse = m.coarse_bytes() + errors,
          .output_row = static_cast<double>(m.bytes()) / static_cast<double>(m.rows)};
}

Cost saved(const model::ModelConfig& config, const WeightBytes& weights, const Pass& pass,
           const GreedyWork& work) {
  if (work.has_rows) {
    const int64_t searched = 2 * pass.rows * config.width * config.vocabulary;
    return work.fell_back ? Cost{-weights.coarse, -searched} : Cost{};
  }
  const int64_t terms = work.exact_rows * config.width;
  const auto rows = static_cast<double>(work.exact_rows) * weights.output_row;
  return {weights.output - weights.coarse - static_cast<int64_t>(rows), -2 * terms};
}

Cost pass_cost(const model::ModelConfig& config, const WeightBytes& weights, kernels::KvType kv,
               const Pass& pass) {
  const int64_t head_sizes = int64_t{config.head_dim} + config.value_dim;
  const int64_t head_bytes =
      (kernels::kv_key_bytes(kv, config.head_dim) + kernels::kv_value_bytes(kv, config.value_dim)) /
      kernels::kKvBlock;
  int64_t bytes = weights.layers + (pass.rows > 0 ? weights.output : 0);
  int64_t terms = pass.rows * config.width * config.vocabulary;
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const model::LayerConfig& layer = config.layers[i];
    const bool is_last = i + 1 == config.layers.size();
    // Trailing tokens of each sequence that go through all of the layer.
    const int64_t whole = is_last ? pass.rows / pass.sequences : pass.tokens;
    const int64_t first = pass.first_position + pass.tokens - whole;
    // The oldest position is that of the first such token's window.
    const int64_t read = whole > 0 ? attended(layer, first) + whole - 1 : 0;
    bytes += pass.sequences * read * layer.kv_heads * head_bytes;
    int64_t pairs = 0;
    for (int64_t t = 0; t < whole; ++t) pairs += attended(layer, first + t);
    terms += pass.sequences * pass.tokens * input_terms(config, layer);
    terms += pass.sequences * whole * output_terms(config, layer);
    if (model::has_state(layer.mixer)) continue;
    terms += pass.sequences * pairs * config.heads * head_sizes;
  }
  // Each sequence's states are read and written once.
  bytes += pass.sequences * 2 * config.state_floats * static_cast<int64_t>(sizeof(float));
  return {bytes, 2 * terms};
}

}  // namespace pawl::probe
