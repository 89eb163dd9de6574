// SPDX-License-Identifier: Apache-2.0
#include "model/weights.h"

#include <array>

#include "model/weight_loader.h"

namespace pawl::model {
namespace {

using base::ErrorCode;
using base::Result;
using Size = WeightLoader::Size;

struct VectorRow {
  const char* name;
  Vector LayerWeights::*member;
  Presence (*presence)(const Architecture&);
};

constexpr auto kPreNorm = [](const Architecture& a) {
  return a.pre_norm == PreNorm::kWeighted ? Presence::kRequired : Presence::kNever;
};
constexpr auto kPreNormBias = [](const Architecture& a) {
  return a.norm == Norm::kLayer && a.pre_norm == PreNorm::kWeighted ? Presence::kOptional
                                                                    : Presence::kNever;
};
constexpr auto kOutputBias = [](const Architecture& a) { return a.attention_output_bias; };
constexpr auto kPostNorms = [](const Architecture& a) { return a.post_norms; };

// All of them [width].
constexpr std::array kVectors = {
    VectorRow{"attn_norm.weight", &LayerWeights::attention_norm, kPreNorm},
    VectorRow{"attn_norm.bias", &LayerWeights::attention_norm_bias, kPreNormBias},
    VectorRow{"attn_output.bias", &LayerWeights::output_bias, kOutputBias},
    VectorRow{"post_attention_norm.weight", &LayerWeights::attention_post_norm, kPostNorms},
    VectorRow{"post_ffw_norm.weight", &LayerWeights::feed_forward_post_norm, kPostNorms},
};

// Queries, keys and values may be one tensor, their rows in this order.
struct InputRow {
  const char* name;
  Matrix LayerWeights::*matrix;
  Vector LayerWeights::*bias;
  Size rows;
};

constexpr std::array kInputs = {
    InputRow{"attn_q", &LayerWeights::q, &LayerWeights::q_bias, Size::kQueries},
    InputRow{"attn_k", &LayerWeights::k, &LayerWeights::k_bias, Size::kKeys},
    InputRow{"attn_v", &LayerWeights::v, &LayerWeights::v_bias, Size::kValues},
};

}  // namespace

Result<Weights> WeightLoader::load(const gguf::File& file, base::TaskPool& pool,
                                   const AdapterFiles& adapters, std::vector<std::string>& unused) {
  weights_.layers.resize(config_.layers.size());
  PAWL_TRY_VOID(find_shared());
  for (size_t i = 0; i < config_.layers.size(); ++i) {
    layer_ = &config_.layers[i];
    prefix_ = "blk." + std::to_string(i) + ".";
    PAWL_TRY_VOID(find_layer(weights_.layers[i]));
  }
  const size_t matrices = pending_.size();
  PAWL_TRY_VOID(add_adapters(adapters));
  PAWL_TRY(weights_.arena, pack_matrices(file, pool, pending_));
  // Only now, as packing sets the whole matrix.
  size_t with_adapters = 0;
  for (size_t i = 0; i < matrices; ++i) {
    if (pending_[i].has_adapters) pending_[i].target->adapters = weights_.adapters[with_adapters++];
  }
  unused = tensors_.unused();
  return std::move(weights_);
}

// A matrix that is some rows of a tensor has the same rows of the adapter's second factor.
Result<void> WeightLoader::add_adapters(const AdapterFiles& adapters) {
  const size_t matrices = pending_.size();
  std::vector<bool> is_used(adapters.pairs().size());
  for (size_t i = 0; i < matrices; ++i) {
    std::vector<size_t> found;
    for (size_t p = 0; p < adapters.pairs().size(); ++p) {
      if (adapters.pairs()[p].name == pending_[i].tensor->name) found.push_back(p);
    }
    if (found.empty()) continue;
    pending_[i].has_adapters = true;
    std::vector<LowRank>& list = weights_.adapters.emplace_back(found.size());
    for (size_t n = 0; n < found.size(); ++n) {
      const AdapterPair& pair = adapters.pairs()[found[n]];
      const PendingMatrix base = pending_[i];
      const int64_t rank = pair.down->dims[1], expert = base.first_row / base.tensor->dims[1];
      list[n].scale = pair.scale;
      pending_.push_back({pair.down, &list[n].down, expert * rank, rank});
      pending_.push_back({pair.up, &list[n].up, base.first_row, base.rows, base.run, base.apart});
      config_.adapter_rank = std::max(config_.adapter_rank, static_cast<int>(rank));
      is_used[found[n]] = true;
    }
  }
  for (size_t p = 0; p < is_used.size(); ++p) {
    if (is_used[p]) continue;
    return tensor_error(ErrorCode::kUnsupported, adapters.pairs()[p].down->name,
                        "no product of the model reads the tensor it is for");
  }
  return {};
}

int64_t WeightLoader::size_of(Size size) const {
  switch (size) {
    case Size::kWidth:
      return config_.width;
    case Size::kQueries:
      return int64_t{config_.heads} * config_.head_dim;
    case Size::kKeys:
      return int64_t{layer_->kv_heads} * config_.head_dim;
    case Size::kValues:
      return int64_t{layer_->kv_heads} * config_.value_dim;
    case Size::kHeads:
      return int64_t{config_.heads} * config_.value_dim;
  }
  return 0;
}

Result<Vector> WeightLoader::vector(const std::string& name, int64_t size, Presence presence) {
  if (presence == Presence::kNever) return Vector{};
  return tensors_.vector(name, size, presence == Presence::kRequired);
}

Result<void> WeightLoader::matrix(const std::string& name, int64_t rows, int64_t cols,
                                  Matrix& target) {
  PAWL_TRY(const gguf::TensorView* tensor, tensors_.find(name, {cols, rows}, true));
  pending_.push_back({tensor, &target, 0, rows});
  return {};
}

// ---- what all layers share
Result<void> WeightLoader::find_shared() {
  const gguf::TensorView* embedding = tensors_.look_up("token_embd.weight");
  if (embedding == nullptr)
    return tensor_error(ErrorCode::kBadFile, "token_embd.weight", "is missing");
  config_.vocabulary = static_cast<int>(std::min<int64_t>(embedding->dims[1], INT32_MAX));
  PAWL_TRY(embedding,
           tensors_.find("token_embd.weight", {config_.width, config_.vocabulary}, true));
  PAWL_TRY(const gguf::TensorView* output,
           tensors_.find("output.weight", {config_.width, config_.vocabulary}, false));
  if (output != nullptr) weights_.embedding = embedding;
  pending_.push_back({.tensor = output != nullptr ? output : embedding,
                      .target = &weights_.output,
                      .rows = config_.vocabulary,
                      .is_split = split_output_});
  PAWL_TRY(weights_.output_bias, vector("output.bias", config_.vocabulary, row_.output_bias));
  PAWL_TRY_VOID(find_shared_norms());
  if (row_.has_learned_positions) {
    const gguf::TensorView* table = tensors_.look_up("position_embd.weight");
    config_.learned_positions = table == nullptr ? 0 : table->dims[1];
    PAWL_TRY(weights_.positions, tensors_.table("position_embd.weight", config_.width,
                                                config_.learned_positions, true));
  }
  return find_rope_factors();
}

Result<void> WeightLoader::find_shared_norms() {
  const auto layer_bias = row_.norm == Norm::kLayer ? Presence::kOptional : Presence::kNever;
  if (row_.has_embedding_norm) {
    PAWL_TRY(weights_.embedding_norm,
             vector("token_embd_norm.weight", config_.width, Presence::kRequired));
    PAWL_TRY(weights_.embedding_norm_bias,
             vector("token_embd_norm.bias", config_.width, layer_bias));
  }
  const bool is_plain = row_.pre_norm == PreNorm::kPlain;
  PAWL_TRY(weights_.output_norm, vector(std::string(row_.output_norm) + ".weight", config_.width,
                                        is_plain ? Presence::kNever : Presence::kRequired));
  PAWL_TRY(weights_.output_norm_bias,
           vector(std::string(row_.output_norm) + ".bias", config_.width, layer_bias));
  return {};
}

Result<void> WeightLoader::find_rope_factors() {
  const int64_t pairs = config_.rope_pairs();
  if (pairs == 0) return {};
  PAWL_TRY(weights_.rope_factors, vector("rope_freqs.weight", pairs, Presence::kOptional));
  PAWL_TRY(weights_.rope_factors_long,
           vector("rope_factors_long.weight", pairs, Presence::kOptional));
  if (weights_.rope_factors_long.empty()) return {};
  PAWL_TRY(weights_.rope_factors_short,
           vector("rope_factors_short.weight", pairs, Presence::kRequired));
  if (config_.ropes[0].original_context == 0) {
    return tensor_error(ErrorCode::kBadFile, "rope_factors_long.weight",
                        "is there, but no key says the original context length");
  }
  return {};
}

// ---- one layer
Result<void> WeightLoader::find_layer(LayerWeights& weights) {
  for (const VectorRow& row : kVectors) {
    PAWL_TRY(weights.*row.member, vector(prefix_ + row.name, config_.width, row.presence(row_)));
  }
  PAWL_TRY_VOID(find_mixer(weights));
  if (!row_.has_feed_forward) return {};
  PAWL_TRY_VOID(find_feed_forward_norm(weights));
  if (layer_->has_experts) return find_experts(weights.experts);
  return find_feed_forward(config_.feed_forward, "", row_.feed_forward_bias, weights.feed_forward);
}

Result<void> WeightLoader::find_mixer(LayerWeights& weights) {
  switch (layer_->mixer) {
    case Mixer::kAttention:
      return find_attention(weights);
    case Mixer::kLatentAttention:
      return find_latent_attention(weights);
    case Mixer::kShortConvolution:
      return find_short_convolution(weights.state);
    case Mixer::kMamba:
      return find_mamba(weights.state);
    case Mixer::kMamba2:
      return find_mamba2(weights.state);
    case Mixer::kDeltaNet:
      return find_delta_net(weights.state);
  }
  return {};
}

Result<void> WeightLoader::find_attention(LayerWeights& weights) {
  PAWL_TRY_VOID(find_inputs(weights));
  PAWL_TRY_VOID(find_qk_norms(weights));
  PAWL_TRY(weights.sinks, vector(prefix_ + "attn_sinks.weight", config_.heads,
                                 row_.has_sinks ? Presence::kRequired : Presence::kNever));
  return matrix(prefix_ + "attn_output.weight", config_.width, size_of(Size::kHeads),
                weights.output);
}

Result<void> WeightLoader::find_inputs(LayerWeights& weights) {
  const int64_t all = size_of(Size::kQueries) + size_of(Size::kKeys) + size_of(Size::kValues);
  const std::string fused = prefix_ + "attn_qkv";
  const bool is_fused = tensors_.has(fused + ".weight") && !tensors_.has(prefix_ + "attn_q.weight");
  int64_t first = 0;
  for (const InputRow& input : kInputs) {
    const int64_t rows = size_of(input.rows);
    const std::string name = prefix_ + input.name;
    if (input.rows == Size::kQueries && row_.has_attention_gate) {
      PAWL_TRY_VOID(find_gated_queries(weights));
      continue;
    }
    if (!is_fused) {
      PAWL_TRY_VOID(matrix(name + ".weight", rows, config_.width, weights.*input.matrix));
      PAWL_TRY(weights.*input.bias, vector(name + ".bias", rows, row_.qkv_bias));
      continue;
    }
    PAWL_TRY(const gguf::TensorView* tensor,
             tensors_.find(fused + ".weight", {config_.width, all}, true));
    pending_.push_back({tensor, &(weights.*input.matrix), first, rows});
    PAWL_TRY(const Vector bias, vector(fused + ".bias", all, row_.qkv_bias));
    if (!bias.empty()) {
      (weights.*input.bias).assign(bias.begin() + first, bias.begin() + first + rows);
    }
    first += rows;
  }
  return {};
}

// For each head the rows of the query, then those of its gate.
Result<void> WeightLoader::find_gated_queries(LayerWeights& weights) {
  const int64_t rows = size_of(Size::kQueries), head = config_.head_dim;
  PAWL_TRY(const gguf::TensorView* tensor,
           tensors_.find(prefix_ + "attn_q.weight", {config_.width, 2 * rows}, true));
  pending_.push_back({tensor, &weights.q, 0, rows, head, 2 * head});
  pending_.push_back({tensor, &weights.attention_gate, head, rows, head, 2 * head});
  return {};
}

Result<void> WeightLoader::find_qk_norms(LayerWeights& weights) {
  const auto read = [&](const std::string& name, int64_t heads,
                        bool is_required) -> Result<Vector> {
    switch (row_.qk_norm) {
      case QkNorm::kNone:
        return Vector{};
      case QkNorm::kShared:
        return tensors_.vector(name, config_.head_dim, is_required);
      case QkNorm::kWhole:
        return tensors_.vector(name, heads * config_.head_dim, is_required);
      case QkNorm::kPerHead:
        return tensors_.table(name, config_.head_dim, heads, is_required);
    }
    return Vector{};
  };
  const bool is_required = row_.qk_norm_weights == Presence::kRequired;
  PAWL_TRY(weights.q_norm, read(prefix_ + "attn_q_norm.weight", config_.heads, is_required));
  // One of the two alone is a broken file.
  PAWL_TRY(weights.k_norm, read(prefix_ + "attn_k_norm.weight", layer_->kv_heads,
                                is_required || !weights.q_norm.empty()));
  return {};
}

Result<Weights> load_weights(const gguf::File& file, ModelConfig& config, base::TaskPool& pool,
                             const AdapterFiles& adapters, bool split_output,
                             std::vector<std::string>& unused) {
  return WeightLoader(file, config, split_output).load(file, pool, adapters, unused);
}

}  // namespace pawl::model
