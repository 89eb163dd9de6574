// SPDX-License-Identifier: Apache-2.0
// The tensors of latent attention and of layers with a state.
#include "model/weight_loader.h"

namespace pawl::model {

using base::ErrorCode;
using base::Result;

Result<void> WeightLoader::rows_of(const std::string& name, int64_t cols,
                                   std::initializer_list<RowRange> parts) {
  int64_t rows = 0;
  for (const RowRange& part : parts) rows += part.rows;
  PAWL_TRY(const gguf::TensorView* tensor, tensors_.find(name, {cols, rows}, true));
  int64_t first = 0;
  for (const RowRange& part : parts) {
    pending_.push_back({tensor, part.target, first, part.rows});
    first += part.rows;
  }
  return {};
}

Result<void> WeightLoader::per_head(const std::string& name, int64_t rows, int64_t cols,
                                    std::vector<Matrix>& targets) {
  PAWL_TRY(const gguf::TensorView* tensor, tensors_.find(name, {cols, rows, config_.heads}, true));
  targets.resize(static_cast<size_t>(config_.heads));
  int64_t first = 0;
  for (Matrix& target : targets) {
    pending_.push_back({tensor, &target, first, rows});
    first += rows;
  }
  return {};
}

Result<void> WeightLoader::find_latent_attention(LayerWeights& weights) {
  const LatentConfig& c = config_.latent;
  LatentAttention& w = weights.latent;
  const int64_t width = config_.width, queries = int64_t{config_.heads} * c.key_dim;
  if (c.query_rank > 0) {
    PAWL_TRY_VOID(matrix(prefix_ + "attn_q_a.weight", c.query_rank, width, w.query_down));
    PAWL_TRY(w.query_norm,
             vector(prefix_ + "attn_q_a_norm.weight", c.query_rank, Presence::kRequired));
    PAWL_TRY_VOID(matrix(prefix_ + "attn_q_b.weight", queries, c.query_rank, w.query));
  } else {
    PAWL_TRY_VOID(matrix(prefix_ + "attn_q.weight", queries, width, w.query));
  }
  PAWL_TRY_VOID(rows_of(prefix_ + "attn_kv_a_mqa.weight", width,
                        {{&w.latent, c.rank}, {&w.rotated_key, c.rotary}}));
  PAWL_TRY(w.latent_norm, vector(prefix_ + "attn_kv_a_norm.weight", c.rank, Presence::kRequired));
  if (c.is_absorbed) {
    PAWL_TRY_VOID(per_head(prefix_ + "attn_k_b.weight", c.rank, c.plain_dim(), w.query_up));
    PAWL_TRY_VOID(per_head(prefix_ + "attn_v_b.weight", c.value_dim, c.rank, w.value_up));
  } else {
    PAWL_TRY_VOID(matrix(prefix_ + "attn_kv_b.weight",
                         int64_t{config_.heads} * (c.plain_dim() + c.value_dim), c.rank,
                         w.keys_and_values));
  }
  return matrix(prefix_ + "attn_output.weight", width, int64_t{config_.heads} * c.value_dim,
                weights.output);
}

Result<Vector> WeightLoader::across(const std::string& name, int64_t cols, int64_t rows) {
  PAWL_TRY(const Vector table, tensors_.table(name, cols, rows, true));
  Vector turned(table.size());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c)
      turned[static_cast<size_t>(c * rows + r)] = table[static_cast<size_t>(r * cols + c)];
  }
  return turned;
}

Result<void> WeightLoader::find_short_convolution(StateWeights& w) {
  const int64_t width = config_.width;
  PAWL_TRY_VOID(rows_of(prefix_ + "shortconv.in_proj.weight", width,
                        {{&w.entry, width}, {&w.gate, width}, {&w.in, width}}));
  PAWL_TRY(w.taps, across(prefix_ + "shortconv.conv.weight", config_.state.taps, width));
  return matrix(prefix_ + "shortconv.out_proj.weight", width, width, w.out);
}

Result<void> WeightLoader::find_mamba(StateWeights& w) {
  const StateConfig& c = config_.state;
  PAWL_TRY_VOID(
      rows_of(prefix_ + "ssm_in.weight", config_.width, {{&w.in, c.inner}, {&w.gate, c.inner}}));
  PAWL_TRY(w.taps, across(prefix_ + "ssm_conv1d.weight", c.taps, c.inner));
  PAWL_TRY(w.taps_bias, vector(prefix_ + "ssm_conv1d.bias", c.inner, Presence::kRequired));
  PAWL_TRY_VOID(rows_of(prefix_ + "ssm_x.weight", c.inner,
                        {{&w.step_down, c.step_rank}, {&w.write_read, 2 * c.states}}));
  PAWL_TRY_VOID(matrix(prefix_ + "ssm_dt.weight", c.inner, c.step_rank, w.step));
  PAWL_TRY(w.step_bias, vector(prefix_ + "ssm_dt.bias", c.inner, Presence::kRequired));
  PAWL_TRY(w.rates, across(prefix_ + "ssm_a", c.states, c.inner));
  PAWL_TRY(w.direct, vector(prefix_ + "ssm_d", c.inner, Presence::kRequired));
  return matrix(prefix_ + "ssm_out.weight", config_.width, c.inner, w.out);
}

Result<void> WeightLoader::find_mamba2(StateWeights& w) {
  const StateConfig& c = config_.state;
  PAWL_TRY_VOID(rows_of(prefix_ + "ssm_in.weight", config_.width,
                        {{&w.gate, c.inner}, {&w.in, c.channels}, {&w.step, c.heads}}));
  PAWL_TRY(w.taps, across(prefix_ + "ssm_conv1d.weight", c.taps, c.channels));
  PAWL_TRY(w.taps_bias, vector(prefix_ + "ssm_conv1d.bias", c.channels, Presence::kRequired));
  PAWL_TRY(w.step_bias, vector(prefix_ + "ssm_dt.bias", c.heads, Presence::kRequired));
  PAWL_TRY(w.rates, tensors_.table(prefix_ + "ssm_a", 1, c.heads, true));
  PAWL_TRY(w.direct, tensors_.table(prefix_ + "ssm_d", 1, c.heads, true));
  PAWL_TRY(w.norm, tensors_.table(prefix_ + "ssm_norm.weight", c.inner / c.groups, c.groups, true));
  return matrix(prefix_ + "ssm_out.weight", config_.width, c.inner, w.out);
}

Result<void> WeightLoader::find_delta_net(StateWeights& w) {
  const StateConfig& c = config_.state;
  const int64_t width = config_.width;
  PAWL_TRY_VOID(matrix(prefix_ + "attn_qkv.weight", c.channels, width, w.in));
  PAWL_TRY_VOID(matrix(prefix_ + "attn_gate.weight", c.inner, width, w.gate));
  PAWL_TRY(w.taps, across(prefix_ + "ssm_conv1d.weight", c.taps, c.channels));
  if (tensors_.has(prefix_ + "ssm_ba.weight")) {
    // By key heads: the rows of beta of its value heads, then those of their steps.
    const int64_t run = c.heads / c.groups;
    PAWL_TRY(const gguf::TensorView* tensor,
             tensors_.find(prefix_ + "ssm_ba.weight", {width, 2 * c.heads}, true));
    pending_.push_back({tensor, &w.beta, 0, c.heads, run, 2 * run});
    pending_.push_back({tensor, &w.step, run, c.heads, run, 2 * run});
  } else {
    PAWL_TRY_VOID(matrix(prefix_ + "ssm_beta.weight", c.heads, width, w.beta));
    PAWL_TRY_VOID(matrix(prefix_ + "ssm_alpha.weight", c.heads, width, w.step));
  }
  PAWL_TRY(w.step_bias, vector(prefix_ + "ssm_dt.bias", c.heads, Presence::kRequired));
  PAWL_TRY(w.rates, vector(prefix_ + "ssm_a", c.heads, Presence::kRequired));
  PAWL_TRY(w.norm, vector(prefix_ + "ssm_norm.weight", c.head_dim(), Presence::kRequired));
  return matrix(prefix_ + "ssm_out.weight", width, c.inner, w.out);
}

}  // namespace pawl::model
