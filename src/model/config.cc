// SPDX-License-Identifier: Apache-2.0
#include "model/config.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "model/config_keys.h"
#include "model/expert_config.h"
#include "model/mixer_config.h"

namespace pawl::model {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// Likewise more than any known model has (config_keys.h).
constexpr uint32_t kMaxLayers = 1024;

Result<RopeConfig> read_rope(const Keys& keys, int head_dim) {
  RopeConfig rope;
  PAWL_TRY(rope.rotary, keys.size_or("rope.dimension_count", head_dim));
  if (rope.rotary > head_dim || rope.rotary % 2 != 0) {
    return bad_key(keys.name("rope.dimension_count"),
                   std::to_string(rope.rotary) + " is not an even number up to the head size " +
                       std::to_string(head_dim));
  }
  PAWL_TRY(const float base, keys.number_or("rope.freq_base", 10000.0f));
  if (base <= 1.0f)
    return bad_key(keys.name("rope.freq_base"), std::to_string(base) + " is not above 1");
  rope.base = static_cast<double>(base);

  PAWL_TRY(const float attention, keys.number_or("rope.scaling.attn_factor", 1.0f));
  rope.attention_factor = static_cast<double>(attention);
  PAWL_TRY(const int original, keys.size_or("rope.scaling.original_context_length", 0, 1u << 30));
  rope.original_context = original;
  PAWL_TRY(const std::string_view type,
           keys.metadata().get_string_or(keys.name("rope.scaling.type"), "linear"));
  // What longrope does is in its tensors of factors.
  if (type == "none" || type == "longrope") return rope;
  if (type == "linear") {
    rope.scaling = RopeScaling::kLinear;
  } else if (type == "yarn") {
    rope.scaling = RopeScaling::kYarn;
  } else {
    return Error{ErrorCode::kUnsupported,
                 "key '" + keys.name("rope.scaling.type") + "': " + base::quoted_text(type) +
                     " is not supported (none, linear, yarn, longrope are)",
                 ""};
  }
  // Files from before the key had another name for it, and no type.
  PAWL_TRY(const float before, keys.number_or("rope.scale_linear", 1.0f));
  PAWL_TRY(const float factor, keys.number_or("rope.scaling.factor", before));
  if (factor <= 0.0f)
    return bad_key(keys.name("rope.scaling.factor"), std::to_string(factor) + " is not above 0");
  rope.factor = static_cast<double>(factor);
  if (rope.scaling == RopeScaling::kYarn && original == 0) {
    return bad_key(keys.name("rope.scaling.original_context_length"),
                   "is missing, and yarn needs it");
  }
  return rope;
}

Result<void> read_heads(const Keys& keys, int layers, ModelConfig& config) {
  const Architecture& row = *config.architecture;
  if (has_state(row.mixer) && row.mixer_layers == MixerLayers::kAll) {
    config.layers.resize(static_cast<size_t>(layers), LayerConfig{.mixer = row.mixer});
    return {};
  }
  // Some files give a number per layer, 0 for layers that have none.
  PAWL_TRY(const std::vector<uint32_t> heads,
           keys.metadata().get_u32_per_layer(keys.name("attention.head_count"),
                                             static_cast<uint32_t>(layers)));
  const uint32_t most = *std::ranges::max_element(heads);
  PAWL_TRY(config.heads, keys.checked("attention.head_count", most, 4096));
  for (const uint32_t n : heads) {
    if (n == most || (n == 0 && row.mixer_layers == MixerLayers::kWithoutKvHeads)) continue;
    return Error{ErrorCode::kUnsupported,
                 "key '" + keys.name("attention.head_count") + "': layers of " + std::to_string(n) +
                     " and of " + std::to_string(most) + " heads in one model are not supported",
                 ""};
  }
  std::vector<uint32_t> kv_heads(static_cast<size_t>(layers), static_cast<uint32_t>(config.heads));
  const std::string key = keys.name("attention.head_count_kv");
  if (keys.metadata().find(key) != nullptr) {
    PAWL_TRY(kv_heads, keys.metadata().get_u32_per_layer(key, static_cast<uint32_t>(layers)));
  }
  for (const uint32_t n : kv_heads) {
    const bool may_be_none = row.mixer_layers == MixerLayers::kWithoutKvHeads;
    if (n == 0 ? !may_be_none : config.heads % static_cast<int64_t>(n) != 0) {
      return bad_key(key, std::to_string(n) + " does not divide the " +
                              std::to_string(config.heads) + " query heads");
    }
    config.layers.push_back(LayerConfig{.mixer = row.mixer, .kv_heads = static_cast<int>(n)});
  }
  PAWL_TRY(config.head_dim,
           keys.size_or("attention.key_length", config.width / config.heads, kMaxHeadDimension));
  PAWL_TRY(config.value_dim,
           keys.size_or("attention.value_length", config.head_dim, kMaxHeadDimension));
  if (config.head_dim < 1 || config.head_dim > static_cast<int>(kMaxHeadDimension)) {
    return bad_key(keys.name("attention.key_length"),
                   "is missing, and " + std::to_string(config.width) + " columns in " +
                       std::to_string(config.heads) + " heads are " +
                       std::to_string(config.head_dim) + " each, outside 1 … " +
                       std::to_string(kMaxHeadDimension));
  }
  if (config.value_dim % 4 != 0) {
    return bad_key(keys.name("attention.value_length"),
                   "head sizes " + std::to_string(config.head_dim) + " and " +
                       std::to_string(config.value_dim) +
                       " have no kernel: the value size must be a multiple of 4");
  }
  return {};
}

// Layers at the end that only serve to guess tokens ahead.
Result<void> leave_out_predictors(const Keys& keys, ModelConfig& config) {
  PAWL_TRY(const uint32_t count, keys.metadata().get_u32_or(keys.name("nextn_predict_layers"), 0));
  if (count >= config.layers.size()) {
    return bad_key(keys.name("nextn_predict_layers"), std::to_string(count) + " of " +
                                                          std::to_string(config.layers.size()) +
                                                          " layers leave none");
  }
  config.layers.resize(config.layers.size() - count);
  return {};
}

Result<void> read_ropes(const Keys& keys, ModelConfig& config) {
  const Architecture& row = *config.architecture;
  bool rotates = row.rotates;
  if (row.rotates_by_key) {
    PAWL_TRY(rotates, keys.flag_or("rope.scaling.finetuned", true));
  }
  if (!rotates) {
    for (LayerConfig& layer : config.layers) layer.rope = -1;
    return {};
  }
  PAWL_TRY(const RopeConfig rope, read_rope(keys, config.head_dim));
  config.ropes.push_back(rope);
  if (row.unrotated_every == 0) return {};
  for (size_t i = 0; i < config.layers.size(); ++i) {
    if (static_cast<int>(i) % row.unrotated_every == row.unrotated_every - 1) {
      config.layers[i].rope = -1;
    }
  }
  return {};
}

Result<void> read_windows(const Keys& keys, ModelConfig& config) {
  const Architecture& row = *config.architecture;
  if (row.global_every == 0) return {};
  PAWL_TRY(const int window, keys.size_or("attention.sliding_window", 0, 1u << 30));
  if (window == 0) return {};
  int local_rope = 0;
  if (row.local_rope_base > 0) {
    config.ropes.push_back(RopeConfig{.rotary = config.ropes[0].rotary,
                                      .base = static_cast<double>(row.local_rope_base)});
    local_rope = 1;
  }
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const int n = row.global_every;
    if (static_cast<int>(i) % n == n - 1) {
      if (!row.rotates_global) config.layers[i].rope = -1;
      continue;
    }
    config.layers[i].window = window;
    config.layers[i].rope = local_rope;
  }
  return {};
}

// Attention with linear biases (arXiv 2108.12409): a slope per head, a geometric sequence; heads
// beyond the last power of two take every other member of a sequence twice as fine.
Result<void> read_alibi(const Keys& keys, ModelConfig& config) {
  PAWL_TRY(const float max_bias,
           keys.number_or("attention.max_alibi_bias", config.architecture->alibi_max_bias));
  if (max_bias == 0) return {};
  if (max_bias < 0 || max_bias > 64) {
    return bad_key(keys.name("attention.max_alibi_bias"),
                   std::to_string(max_bias) + " is outside 0 … 64");
  }
  int power = 1;
  while (2 * power <= config.heads) power *= 2;
  const double bias = static_cast<double>(max_bias);
  for (int h = 0; h < config.heads; ++h) {
    const double exponent =
        h < power ? (h + 1) * bias / power : (2 * (h - power) + 1) * bias / (2 * power);
    config.alibi_slopes.push_back(static_cast<float>(std::exp2(-exponent)));
  }
  return {};
}

Result<void> read_scales(const Keys& keys, ModelConfig& config) {
  const Architecture& row = *config.architecture;
  if (config.heads == 0) return {};
  const bool is_wide =
      row.wide_layers > 0 && static_cast<int>(config.layers.size()) == row.wide_layers;
  const float divisor = is_wide
                            ? static_cast<float>(config.width) / static_cast<float>(config.heads)
                            : static_cast<float>(config.head_dim);
  config.attention_scale = 1.0f / std::sqrt(divisor);
  if (row.has_scaled_embedding)
    config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  if (row.scale_defaults != nullptr) row.scale_defaults(config);
  if (!row.has_scale_keys) return {};
  PAWL_TRY(config.embedding_scale, keys.number_or("embedding_scale", config.embedding_scale));
  PAWL_TRY(config.residual_scale, keys.number_or("residual_scale", config.residual_scale));
  PAWL_TRY(const float attention, keys.number_or("attention.scale", 0.0f));
  if (attention != 0) config.attention_scale = attention;
  PAWL_TRY(config.logit_scale, keys.number_or("logit_scale", config.logit_scale));
  if (config.logit_scale == 0) return bad_key(keys.name("logit_scale"), "is 0");
  if (row.logit_scale == LogitScale::kDivides) config.logit_scale = 1.0f / config.logit_scale;
  return {};
}

}  // namespace

int ModelConfig::max_kv_heads() const {
  int most = 0;
  for (const LayerConfig& layer : layers) most = std::max(most, layer.kv_heads);
  return most;
}

Result<ModelConfig> read_config(const gguf::File& file) {
  const gguf::Metadata& metadata = file.metadata();
  PAWL_TRY(const std::string_view name, metadata.get_string("general.architecture"));
  ModelConfig config;
  config.architecture = find_architecture(name);
  if (config.architecture == nullptr) {
    std::string known;
    for (const Architecture& row : architectures())
      known += (known.empty() ? "" : ", ") + std::string(row.name);
    return Error{ErrorCode::kUnsupported,
                 "key 'general.architecture': " + base::quoted_text(name) + " is not supported (" +
                     known + " are)",
                 ""};
  }
  const Keys keys(metadata, name);
  PAWL_TRY(const int layers, keys.size("block_count", kMaxLayers));
  PAWL_TRY(config.width, keys.size("embedding_length"));
  PAWL_TRY(config.context_length, keys.size("context_length", 1u << 30));
  const Architecture& row = *config.architecture;
  if (row.has_feed_forward) {
    PAWL_TRY(config.feed_forward, keys.size("feed_forward_length"));
  }
  PAWL_TRY(config.norm_epsilon,
           keys.number_or(row.norm == Norm::kRms ? "attention.layer_norm_rms_epsilon"
                                                 : "attention.layer_norm_epsilon",
                          1e-5f));
  PAWL_TRY_VOID(read_heads(keys, layers, config));
  PAWL_TRY_VOID(leave_out_predictors(keys, config));
  PAWL_TRY_VOID(read_states(keys, config));
  PAWL_TRY_VOID(read_ropes(keys, config));
  PAWL_TRY_VOID(read_windows(keys, config));
  PAWL_TRY_VOID(read_experts(keys, config));
  PAWL_TRY_VOID(read_alibi(keys, config));
  PAWL_TRY_VOID(read_scales(keys, config));
  if (row.mixer == Mixer::kLatentAttention) {
    PAWL_TRY_VOID(read_latent(keys, config));
  }
  PAWL_TRY(config.attention_cap, keys.number_or("attn_logit_softcapping", 0.0f));
  PAWL_TRY(config.logit_cap, keys.number_or("final_logit_softcapping", 0.0f));
  PAWL_TRY(config.qkv_clamp, keys.number_or("attention.clamp_kqv", 0.0f));
  config.is_parallel = row.residual == Residual::kParallel;
  if (row.residual == Residual::kByKey) {
    PAWL_TRY(config.is_parallel, keys.flag_or("use_parallel_residual", true));
  }
  return config;
}

}  // namespace pawl::model
