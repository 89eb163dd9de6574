// SPDX-License-Identifier: Apache-2.0
// The feed-forward: down · (activation(gate · x) * (up · x)), or without a gate
// down · activation(up · x).
#include <algorithm>

#include "model/forward.h"

namespace pawl::model {
namespace {

// What gpt-oss does to gate and up before gate * sigmoid(1.702 gate) * up (its model card, "clamped
// SwiGLU"). Plain comparisons and one sum: the same bits for every instruction set.
void clamp_gate_and_up(float* gate, float* up, int64_t n) {
  constexpr float kLimit = 7.0f;
  for (int64_t i = 0; i < n; ++i) {
    gate[i] = std::min(gate[i], kLimit);
    up[i] = std::max(-kLimit, std::min(up[i], kLimit)) + 1.0f;
  }
}

}  // namespace

void Forward::feed_forward(const FeedForward& w, int64_t hidden, bool is_clamped, const float* x,
                           int64_t tokens, float* out) {
  const bool has_gate = w.gate.packed != nullptr;
  const kernels::Activation activation =
      is_clamped ? kernels::Activation::kGeluQuick : model_->config().architecture->activation;
  const auto bias = [](const Vector& b) { return b.empty() ? nullptr : b.data(); };
  const Product inputs[] = {{&w.up, scratch_.up, bias(w.up_bias)},
                            {&w.gate, scratch_.gate, bias(w.gate_bias)}};
  multiply(x, tokens, std::span(inputs).first(has_gate ? 2 : 1));
  // A gate is a function of one column: pieces of columns may go to any thread.
  pool_.run(tokens * hidden, 2048, [&](int64_t begin, int64_t end, int) {
    float* up = scratch_.up + begin;
    float* gate = scratch_.gate + begin;
    if (is_clamped) clamp_gate_and_up(gate, up, end - begin);
    if (has_gate) {
      table_.gate(activation, gate, up, end - begin, up);
    } else {
      table_.activate(activation, up, end - begin);
    }
  });
  const Product output{&w.down, out, bias(w.down_bias)};
  multiply(scratch_.up, tokens, {&output, 1});
}

}  // namespace pawl::model
