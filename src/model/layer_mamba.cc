// SPDX-License-Identifier: Apache-2.0
// Mamba (arXiv 2312.00752 §3, algorithm 2) and Mamba-2 (arXiv 2405.21060 §7). Each channel has a
// few states, which decay by a rate times a step that the input chooses; what is written to them
// and read from them is chosen by the input too; in Falcon Mamba (arXiv 2410.05355 §3.1) all three
// are normed. In Mamba a rate belongs to a channel and state, in Mamba-2 to a head of channels.
#include "model/forward.h"

namespace pawl::model {
namespace {

constexpr int64_t kChannelTile = 64;

}  // namespace

void Forward::mamba(int layer, const float* x) {
  const StateConfig& c = model_->config().state;
  const StateWeights& w = state_weights(layer);
  const StateScratch& s = scratch_.state;
  const Product in[] = {{&w.in, s.channels, nullptr}, {&w.gate, s.gates, nullptr}};
  multiply(x, tokens_, in);
  convolve(layer);
  activate_channels();
  const Product chosen[] = {{&w.step_down, s.step_down, nullptr},
                            {&w.write_read, s.write_read, nullptr}};
  multiply(s.channels, tokens_, chosen);
  if (c.norms_chosen) norm_chosen();
  const Product step{&w.step, s.steps, w.step_bias.data()};
  multiply(s.step_down, tokens_, {&step, 1});
  run_by_segment(c.inner, kChannelTile, [&](size_t segment, int64_t begin, int64_t end) {
    scan_channels(layer, segment, begin, end);
  });
  const Product out{&w.out, scratch_.added, nullptr};
  multiply(s.mixed, tokens_, {&out, 1});
}

void Forward::norm_chosen() {
  const StateConfig& c = model_->config().state;
  pool_.run(tokens_, 16, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      float* steps = scratch_.state.step_down + t * c.step_rank;
      float* written = scratch_.state.write_read + t * 2 * c.states;
      norm(steps, nullptr, nullptr, c.step_rank, steps);
      norm(written, nullptr, nullptr, c.states, written);
      norm(written + c.states, nullptr, nullptr, c.states, written + c.states);
    }
  });
}

// Channels [begin, end) of all positions of a segment, in order.
void Forward::scan_channels(int layer, size_t segment, int64_t begin, int64_t end) {
  const StateConfig& c = model_->config().state;
  const StateWeights& w = state_weights(layer);
  const StateScratch& s = scratch_.state;
  const int64_t n = end - begin;
  float* state = state_of(segment, layer) + begin;
  const int64_t first = segment_starts_[segment];
  for (size_t i = 0; i < segments_[segment].ids.size(); ++i) {
    const int64_t t = first + static_cast<int64_t>(i), at = t * c.inner + begin;
    const float* chosen = s.write_read + t * 2 * c.states;
    float* x = s.channels + at;
    float* out = s.mixed + at;
    table_.softplus(s.steps + at, n);
    table_.selective_step({.state = state,
                           .states = c.states,
                           .n = n,
                           .stride = c.inner,
                           .x = x,
                           .write = chosen,
                           .read = chosen + c.states,
                           .out = out},
                          w.rates.data() + begin, s.steps + at);
    table_.multiply(x, w.direct.data() + begin, n);
    table_.add(out, x, n);
    table_.gate(kernels::Activation::kSilu, s.gates + at, out, n, out);
  }
}

void Forward::mamba2(int layer, const float* x) {
  const StateConfig& c = model_->config().state;
  const StateWeights& w = state_weights(layer);
  const StateScratch& s = scratch_.state;
  const Product in[] = {{&w.in, s.channels, nullptr},
                        {&w.gate, s.gates, nullptr},
                        {&w.step, s.steps, w.step_bias.data()}};
  multiply(x, tokens_, in);
  convolve(layer);
  activate_channels();
  find_decays(layer);
  run_by_segment(c.heads, 1,
                 [&](size_t segment, int64_t head, int64_t) { scan_head(layer, segment, head); });
  const int64_t part = c.inner / c.groups;
  pool_.run(tokens_, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      float* out = s.mixed + t * c.inner;
      table_.gate(kernels::Activation::kSilu, s.gates + t * c.inner, out, c.inner, out);
      for (int64_t at = 0; at < c.inner; at += part)
        norm(out + at, w.norm.data() + at, nullptr, part, out + at);
    }
  });
  const Product out{&w.out, scratch_.added, nullptr};
  multiply(s.mixed, tokens_, {&out, 1});
}

// steps = softplus(steps); decays = exp(steps * rates): [tokens, heads]
void Forward::find_decays(int layer) {
  const int64_t heads = model_->config().state.heads;
  const StateWeights& w = state_weights(layer);
  pool_.run(tokens_, 16, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      float* steps = scratch_.state.steps + t * heads;
      float* decays = scratch_.state.decays + t * heads;
      table_.softplus(steps, heads);
      for (int64_t h = 0; h < heads; ++h) decays[h] = steps[h];
      table_.multiply(decays, w.rates.data(), heads);
      table_.exponential(decays, heads);
    }
  });
}

void Forward::scan_head(int layer, size_t segment, int64_t head) {
  const StateConfig& c = model_->config().state;
  const StateWeights& w = state_weights(layer);
  const StateScratch& s = scratch_.state;
  const int64_t n = c.head_dim(), group = head / (c.heads / c.groups);
  float* state = state_of(segment, layer) + head * c.states * n;
  const int64_t first = segment_starts_[segment];
  for (size_t i = 0; i < segments_[segment].ids.size(); ++i) {
    const int64_t t = first + static_cast<int64_t>(i);
    const float* x = s.channels + t * c.channels;
    const float* write = x + c.inner + group * c.states;
    float* out = s.mixed + t * c.inner + head * n;
    table_.decay_step({.state = state,
                       .states = c.states,
                       .n = n,
                       .stride = n,
                       .x = x + head * n,
                       .write = write,
                       .read = write + int64_t{c.groups} * c.states,
                       .out = out},
                      s.decays[t * c.heads + head], s.steps[t * c.heads + head]);
    table_.add_scaled(out, x + head * n, w.direct[static_cast<size_t>(head)], n);
  }
}

}  // namespace pawl::model
