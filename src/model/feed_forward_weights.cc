// SPDX-License-Identifier: Apache-2.0
// The tensors of feed-forwards: their norm, one for all tokens, and experts.
#include "model/weight_loader.h"

namespace pawl::model {

using base::Result;

Result<void> WeightLoader::find_feed_forward_norm(LayerWeights& weights) {
  if (row_.pre_norm != PreNorm::kWeighted) return {};
  if (row_.may_have_attention_norm_2 && tensors_.has(prefix_ + "attn_norm_2.weight")) {
    weights.feed_forward_norm = std::move(weights.attention_norm);
    weights.feed_forward_norm_bias = std::move(weights.attention_norm_bias);
    PAWL_TRY(weights.attention_norm,
             vector(prefix_ + "attn_norm_2.weight", config_.width, Presence::kRequired));
    PAWL_TRY(weights.attention_norm_bias,
             vector(prefix_ + "attn_norm_2.bias", config_.width, Presence::kOptional));
    return {};
  }
  const bool is_needed = row_.residual == Residual::kSerial || row_.residual == Residual::kByKey;
  const std::string name = prefix_ + std::string(row_.feed_forward_norm);
  PAWL_TRY(weights.feed_forward_norm,
           vector(name + ".weight", config_.width,
                  is_needed ? Presence::kRequired : Presence::kOptional));
  const bool has_norm = !weights.feed_forward_norm.empty();
  if (row_.residual == Residual::kByNorm) config_.is_parallel = !has_norm;
  PAWL_TRY(weights.feed_forward_norm_bias,
           vector(name + ".bias", config_.width,
                  row_.norm == Norm::kLayer && has_norm ? Presence::kOptional : Presence::kNever));
  return {};
}

// Gate and up may be one tensor, which is then called "up", the gate's rows first.
Result<void> WeightLoader::find_feed_forward(int64_t hidden, const std::string& suffix,
                                             Presence bias, FeedForward& weights) {
  const std::string up = prefix_ + "ffn_up" + suffix;
  const std::string gate = prefix_ + "ffn_gate" + suffix;
  const gguf::TensorView* tensor = tensors_.look_up(up + ".weight");
  const bool is_fused = row_.has_gate && !tensors_.has(gate + ".weight") && tensor != nullptr &&
                        tensor->dims[1] == 2 * hidden;
  if (is_fused) {
    PAWL_TRY(tensor, tensors_.find(up + ".weight", {config_.width, 2 * hidden}, true));
    pending_.push_back({tensor, &weights.gate, 0, hidden});
    pending_.push_back({tensor, &weights.up, hidden, hidden});
  } else {
    if (row_.has_gate) {
      PAWL_TRY_VOID(matrix(gate + ".weight", hidden, config_.width, weights.gate));
    }
    PAWL_TRY_VOID(matrix(up + ".weight", hidden, config_.width, weights.up));
  }
  const std::string down = prefix_ + "ffn_down" + suffix;
  PAWL_TRY_VOID(matrix(down + ".weight", config_.width, hidden, weights.down));
  PAWL_TRY(weights.up_bias, vector(up + ".bias", hidden, bias));
  PAWL_TRY(weights.down_bias, vector(down + ".bias", config_.width, bias));
  return {};
}

// ---- experts
// Gate and up may be one tensor, in each expert the gate's rows first.
Result<void> WeightLoader::find_experts(Experts& experts) {
  const int64_t count = config_.experts;
  const std::string router = prefix_ + "ffn_gate_inp";
  PAWL_TRY_VOID(matrix(router + ".weight", count, config_.width, experts.router));
  PAWL_TRY(experts.router_bias, vector(router + ".bias", count, row_.expert_bias));
  PAWL_TRY(experts.selection_bias,
           vector(prefix_ + "exp_probs_b.bias", count, Presence::kOptional));
  experts.all.resize(static_cast<size_t>(count));
  const int64_t hidden = config_.expert_hidden, width = config_.width;
  const std::string both = prefix_ + "ffn_gate_up_exps.weight";
  if (tensors_.has(both) && row_.expert_bias == Presence::kNever) {
    PAWL_TRY(const gguf::TensorView* tensor, tensors_.find(both, {width, 2 * hidden, count}, true));
    for (int64_t e = 0; e < count; ++e) {
      FeedForward& expert = experts.all[static_cast<size_t>(e)];
      pending_.push_back({tensor, &expert.gate, 2 * e * hidden, hidden});
      pending_.push_back({tensor, &expert.up, (2 * e + 1) * hidden, hidden});
    }
  } else {
    PAWL_TRY_VOID(find_expert_matrices("ffn_gate_exps", hidden, width, &FeedForward::gate,
                                       &FeedForward::gate_bias, experts));
    PAWL_TRY_VOID(find_expert_matrices("ffn_up_exps", hidden, width, &FeedForward::up,
                                       &FeedForward::up_bias, experts));
  }
  PAWL_TRY_VOID(find_expert_matrices("ffn_down_exps", width, hidden, &FeedForward::down,
                                     &FeedForward::down_bias, experts));
  if (config_.shared_hidden == 0) return {};
  PAWL_TRY_VOID(
      find_feed_forward(config_.shared_hidden, "_shexp", Presence::kNever, experts.shared));
  PAWL_TRY(
      experts.shared_gate,
      vector(prefix_ + "ffn_gate_inp_shexp.weight", width,
             row_.shared_expert == SharedExpert::kGated ? Presence::kRequired : Presence::kNever));
  return {};
}

Result<void> WeightLoader::find_expert_matrices(const std::string& name, int64_t rows, int64_t cols,
                                                Matrix FeedForward::*target,
                                                Vector FeedForward::*bias, Experts& experts) {
  const int64_t count = config_.experts;
  PAWL_TRY(const gguf::TensorView* tensor,
           tensors_.find(prefix_ + name + ".weight", {cols, rows, count}, true));
  Vector biases;
  if (row_.expert_bias != Presence::kNever) {
    PAWL_TRY(biases, tensors_.table(prefix_ + name + ".bias", rows, count,
                                    row_.expert_bias == Presence::kRequired));
  }
  for (int64_t e = 0; e < count; ++e) {
    FeedForward& expert = experts.all[static_cast<size_t>(e)];
    pending_.push_back({tensor, &(expert.*target), e * rows, rows});
    if (biases.empty()) continue;
    (expert.*bias).assign(biases.begin() + e * rows, biases.begin() + (e + 1) * rows);
  }
  return {};
}

}  // namespace pawl::model
