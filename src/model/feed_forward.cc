// SPDX-License-Identifier: Apache-2.0
// The gated feed-forward: added = down · (activation(gate · x) * (up · x)).
#include "model/forward.h"

namespace pawl::model {

void Forward::feed_forward_layer(int layer) {
  const LayerWeights& w = model_->weights().layers[static_cast<size_t>(layer)];
  const kernels::Activation activation = model_->config().architecture->activation;
  const int64_t hidden = model_->config().feed_forward;
  const Product inputs[] = {{&w.gate, scratch_.gate, nullptr}, {&w.up, scratch_.up, nullptr}};
  multiply(scratch_.normed, tokens_, inputs);
  // A gate is a function of one column: pieces of columns may go to any thread.
  pool_.run(tokens_ * hidden, 2048, [&](int64_t begin, int64_t end, int) {
    table_.gate(activation, scratch_.gate + begin, scratch_.up + begin, end - begin,
                scratch_.gate + begin);
  });
  const Product output{&w.down, scratch_.added, nullptr};
  multiply(scratch_.gate, tokens_, {&output, 1});
}

}  // namespace pawl::model
