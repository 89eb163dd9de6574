// SPDX-License-Identifier: Apache-2.0
// The last step of a pass: final hidden states → logits, or the largest ones alone.
#include <algorithm>

#include "model/forward.h"

namespace pawl::model {

Logits Forward::project() {
  const ModelConfig& config = model_->config();
  const Weights& weights = model_->weights();
  norm_rows(scratch_.x, weights.output_norm, weights.output_norm_bias, scratch_.normed, tokens_);
  pool_hidden_states();
  const int rows = static_cast<int>(tokens_);
  if (rows == 0) return Logits{nullptr, 0, config.vocabulary, {}};
  if (find_largest()) return Logits{nullptr, rows, config.vocabulary, search_.largest()};
  const float* bias = weights.output_bias.empty() ? nullptr : weights.output_bias.data();
  const Product product{&weights.output, scratch_.logits, bias};
  multiply(scratch_.normed, rows, {&product, 1});
  if (config.logit_scale != 1.0f) {
    pool_.run(int64_t{rows} * config.vocabulary, 4096, [&](int64_t begin, int64_t end, int) {
      table_.scale(scratch_.logits + begin, config.logit_scale, end - begin);
    });
  }
  if (config.logit_cap > 0) {
    pool_.run(int64_t{rows} * config.vocabulary, 4096, [&](int64_t begin, int64_t end, int) {
      table_.soft_cap(scratch_.logits + begin, config.logit_cap, end - begin);
    });
  }
  return Logits{scratch_.logits, rows, config.vocabulary, {}};
}

// True where every row is wanted for its largest logit alone and these could be had.
bool Forward::find_largest() {
  const Weights& weights = model_->weights();
  const ModelConfig& config = model_->config();
  // What comes after the product would have to keep the order of logits, equal ones included.
  const bool is_product_alone =
      weights.output_bias.empty() && config.logit_scale == 1.0f && config.logit_cap == 0;
  if (!is_product_alone || !LargestSearch::can_search(weights.output) ||
      !takes_a8(weights.output) || !weights.output.adapters.empty() ||
      tokens_ > LargestSearch::kMostRows || static_cast<int64_t>(segments_.size()) != tokens_) {
    return false;
  }
  std::span<const base::TokenId> excluded[LargestSearch::kMostRows];
  for (size_t row = 0; row < segments_.size(); ++row) {
    if (!segments_[row].only_largest) return false;
    excluded[row] = segments_[row].excluded;
  }
  const Product product{&weights.output, nullptr, nullptr};
  const Input input = input_of(scratch_.normed, tokens_, {&product, 1});
  return search_.find(weights.output, table_, pool_,
                      {.x8 = input.x8,
                       .x8_bytes = input.x8_bytes,
                       .excluded = {excluded, segments_.size()},
                       .logits = scratch_.logits});
}

}  // namespace pawl::model
