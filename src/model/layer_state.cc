// SPDX-License-Identifier: Apache-2.0
// What layers with a state have in common: where the state lies, and the convolution that most of
// them begin with. A state goes from position to position, so that neither chunks nor neighbours
// change a bit; threads share channels or heads, each of which has its own part of the state.
#include <algorithm>

#include "base/check.h"
#include "model/forward.h"

namespace pawl::model {
namespace {

// Channels that one thread takes at a time.
constexpr int64_t kChannelTile = 64;

}  // namespace

void Forward::state_layer(int layer, const float* x) {
  switch (model_->config().layers[static_cast<size_t>(layer)].mixer) {
    case Mixer::kShortConvolution:
      return short_convolution(layer, x);
    case Mixer::kMamba:
      return mamba(layer, x);
    case Mixer::kMamba2:
      return mamba2(layer, x);
    case Mixer::kDeltaNet:
      return delta_net(layer, x);
    case Mixer::kAttention:
    case Mixer::kLatentAttention:
      break;
  }
  PAWL_CHECK(false);  // a layer without a state
}

const StateWeights& Forward::state_weights(int layer) const {
  return model_->weights().layers[static_cast<size_t>(layer)].state;
}

float* Forward::window_of(size_t segment, int layer) const {
  return segments_[segment].state +
         model_->config().layers[static_cast<size_t>(layer)].state_offset;
}

float* Forward::state_of(size_t segment, int layer) const {
  const StateConfig& s = model_->config().state;
  const int64_t window = int64_t{s.taps - 1} * s.channels;
  return window_of(segment, layer) + (window + 15) / 16 * 16;
}

void Forward::begin_states() {
  const int64_t floats = model_->config().state_floats;
  if (floats == 0) return;
  for (const Segment& segment : segments_) {
    PAWL_CHECK(segment.state != nullptr);
    if (segment.first_position == 0) std::fill_n(segment.state, floats, 0.0f);
  }
}

void Forward::convolve(int layer) {
  const StateConfig& s = model_->config().state;
  const StateWeights& w = state_weights(layer);
  run_by_segment(s.channels, kChannelTile, [&](size_t segment, int64_t begin, int64_t end) {
    table_.convolve({.x = scratch_.state.channels + segment_starts_[segment] * s.channels + begin,
                     .window = window_of(segment, layer) + begin,
                     .w = w.taps.data() + begin,
                     .bias = w.taps_bias.empty() ? nullptr : w.taps_bias.data() + begin,
                     .stride = s.channels,
                     .tokens = static_cast<int64_t>(segments_[segment].ids.size()),
                     .channels = end - begin,
                     .taps = s.taps});
  });
}

void Forward::activate_channels() {
  const int64_t channels = model_->config().state.channels;
  pool_.run(tokens_ * channels, 2048, [&](int64_t begin, int64_t end, int) {
    table_.activate(kernels::Activation::kSilu, scratch_.state.channels + begin, end - begin);
  });
}

// LFM2: what enters, times one part of the input, convolved, times another.
void Forward::short_convolution(int layer, const float* x) {
  const StateWeights& w = state_weights(layer);
  const StateScratch& s = scratch_.state;
  const int64_t width = model_->config().width;
  const Product in[] = {
      {&w.entry, s.mixed, nullptr}, {&w.gate, s.gates, nullptr}, {&w.in, s.channels, nullptr}};
  multiply(x, tokens_, in);
  const auto times = [&](const float* factors) {
    pool_.run(tokens_ * width, 2048, [&](int64_t begin, int64_t end, int) {
      table_.multiply(s.channels + begin, factors + begin, end - begin);
    });
  };
  times(s.mixed);
  convolve(layer);
  times(s.gates);
  const Product out{&w.out, scratch_.added, nullptr};
  multiply(s.channels, tokens_, {&out, 1});
}

}  // namespace pawl::model
