// SPDX-License-Identifier: Apache-2.0
// The gated delta net (arXiv 2412.06464 §3). A head's state is a matrix from keys to values. It
// decays; then what it gives for the key at hand is drawn towards the value at hand by `beta`; then
// the query reads it.
#include <cmath>

#include "model/forward.h"

namespace pawl::model {

void Forward::delta_net(int layer, const float* x) {
  const StateConfig& c = model_->config().state;
  const StateWeights& w = state_weights(layer);
  const StateScratch& s = scratch_.state;
  const Product in[] = {{&w.in, s.channels, nullptr},
                        {&w.gate, s.gates, nullptr},
                        {&w.step, s.steps, w.step_bias.data()},
                        {&w.beta, s.betas, nullptr}};
  multiply(x, tokens_, in);
  convolve(layer);
  activate_channels();
  find_decays(layer);
  norm_queries_and_keys();
  run_by_segment(c.heads, 1,
                 [&](size_t segment, int64_t head, int64_t) { apply_delta(layer, segment, head); });
  const int64_t n = c.head_dim();
  pool_.run(tokens_, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      float* out = s.mixed + t * c.inner;
      for (int64_t at = 0; at < c.inner; at += n)
        norm(out + at, w.norm.data(), nullptr, n, out + at);
      table_.gate(kernels::Activation::kSilu, s.gates + t * c.inner, out, c.inner, out);
    }
  });
  const Product out{&w.out, scratch_.added, nullptr};
  multiply(s.mixed, tokens_, {&out, 1});
}

// To length 1, the queries then times 1 / sqrt(their size). A position holds queries, keys, values.
void Forward::norm_queries_and_keys() {
  const ModelConfig& config = model_->config();
  const StateConfig& c = config.state;
  const float size = static_cast<float>(c.states);
  // The root of the mean square is sqrt(size) times smaller than the length.
  const float epsilon = config.norm_epsilon / size, factor = 1.0f / std::sqrt(size);
  pool_.run(tokens_, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      float* heads = scratch_.state.channels + t * c.channels;
      for (int h = 0; h < 2 * c.groups; ++h) {
        float* head = heads + int64_t{h} * c.states;
        table_.rms_norm(head, nullptr, epsilon, c.states, head);
        table_.scale(head, h < c.groups ? factor * factor : factor, c.states);
      }
      table_.sigmoid(scratch_.state.betas + t * c.heads, c.heads);
    }
  });
}

void Forward::apply_delta(int layer, size_t segment, int64_t head) {
  const ModelConfig& config = model_->config();
  const StateConfig& c = config.state;
  const StateScratch& s = scratch_.state;
  const int64_t n = c.head_dim(), keys = int64_t{c.groups} * c.states;
  const int64_t key_head =
      config.architecture->tiles_key_heads ? head % c.groups : head / (c.heads / c.groups);
  float* state = state_of(segment, layer) + head * c.states * n;
  const int64_t first = segment_starts_[segment];
  for (size_t i = 0; i < segments_[segment].ids.size(); ++i) {
    const int64_t t = first + static_cast<int64_t>(i);
    const float* query = s.channels + t * c.channels + key_head * c.states;
    table_.delta_step({.state = state,
                       .states = c.states,
                       .n = n,
                       .stride = n,
                       .x = s.channels + t * c.channels + 2 * keys + head * n,
                       .write = query + keys,
                       .read = query,
                       .out = s.mixed + t * c.inner + head * n},
                      s.decays[t * c.heads + head], s.betas[t * c.heads + head]);
  }
}

}  // namespace pawl::model
