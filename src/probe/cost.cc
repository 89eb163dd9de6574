// SPDX-License-Identifier: Apache-2.0
#include "probe/cost.h"

#include <algorithm>

namespace pawl::probe {
namespace {

// Positions that a query at `position` attends to, itself included.
int64_t attended(const model::LayerConfig& layer, int64_t position) {
  return layer.window > 0 ? std::min(position + 1, layer.window) : position + 1;
}

// Multiply-adds of one layer's matrices for one token: what makes queries, keys and values, and the
// rest, which in the last layer only tokens with logits go through.
int64_t input_terms(const model::ModelConfig& c, const model::LayerConfig& layer) {
  const int64_t keys = int64_t{layer.kv_heads} * c.head_dim;
  const int64_t values = int64_t{layer.kv_heads} * c.value_dim;
  return c.width * (int64_t{c.heads} * c.head_dim + keys + values);
}
int64_t output_terms(const model::ModelConfig& c, const model::LayerConfig& layer) {
  const int64_t matrices = c.architecture != nullptr && !c.architecture->has_gate ? 2 : 3;
  const int64_t hidden = layer.has_experts
                             ? int64_t{c.experts_used} * c.expert_hidden + c.shared_hidden
                             : int64_t{c.feed_forward};
  return c.width *
         (int64_t{c.heads} * c.value_dim + matrices * hidden + (layer.has_experts ? c.experts : 0));
}

}  // namespace

WeightBytes weight_bytes(const model::Model& model) {
  const int64_t output = model.weights().output.bytes();
  return {model.step_weight_bytes() - output, output};
}

Cost pass_cost(const model::ModelConfig& config, const WeightBytes& weights, int kv_element_bytes,
               const Pass& pass) {
  const int64_t head_sizes = int64_t{config.head_dim} + config.value_dim;
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
    bytes += pass.sequences * read * layer.kv_heads * head_sizes * kv_element_bytes;
    int64_t pairs = 0;
    for (int64_t t = 0; t < whole; ++t) pairs += attended(layer, first + t);
    terms += pass.sequences * pass.tokens * input_terms(config, layer);
    terms += pass.sequences * whole * output_terms(config, layer);
    terms += pass.sequences * pairs * config.heads * head_sizes;
  }
  return {bytes, 2 * terms};
}

}  // namespace pawl::probe
