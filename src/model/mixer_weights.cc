// SPDX-License-Identifier: Apache-2.0
// The tensors of latent attention.
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

}  // namespace pawl::model
