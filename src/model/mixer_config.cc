// SPDX-License-Identifier: Apache-2.0
#include "model/mixer_config.h"

#include <cmath>

namespace pawl::model {

using base::Result;

namespace {

// Which of the two forms the file has, and what the cache then holds.
Result<void> read_latent_sizes(const Keys& keys, ModelConfig& config) {
  LatentConfig& latent = config.latent;
  latent.key_dim = config.head_dim;
  latent.value_dim = config.value_dim;
  latent.is_absorbed = keys.metadata().find(keys.name("attention.key_length_mla")) != nullptr;
  const int heads_kept = latent.is_absorbed ? 1 : config.heads;
  for (const LayerConfig& layer : config.layers) {
    if (layer.kv_heads == heads_kept) continue;
    return bad_key(keys.name("attention.head_count_kv"),
                   std::to_string(layer.kv_heads) + ", expected " + std::to_string(heads_kept));
  }
  if (!latent.is_absorbed) return {};
  PAWL_TRY(latent.key_dim, keys.size("attention.key_length_mla", kMaxHeadDimension));
  PAWL_TRY(latent.value_dim, keys.size("attention.value_length_mla", kMaxHeadDimension));
  if (config.head_dim != latent.rank + latent.rotary) {
    return bad_key(keys.name("attention.key_length"),
                   std::to_string(config.head_dim) + " is not the latent's " +
                       std::to_string(latent.rank) + " and the rotated key's " +
                       std::to_string(latent.rotary));
  }
  if (config.value_dim != latent.rank) {
    return bad_key(keys.name("attention.value_length"), std::to_string(config.value_dim) +
                                                            ", expected the latent's " +
                                                            std::to_string(latent.rank));
  }
  return {};
}

}  // namespace

Result<void> read_latent(const Keys& keys, ModelConfig& config) {
  LatentConfig& latent = config.latent;
  RopeConfig& rope = config.ropes[0];
  latent.rotary = rope.rotary;
  PAWL_TRY(latent.query_rank, keys.size_or("attention.q_lora_rank", 0));
  PAWL_TRY(latent.rank, keys.size("attention.kv_lora_rank"));
  PAWL_TRY_VOID(read_latent_sizes(keys, config));
  if (latent.plain_dim() < 1) {
    return bad_key(keys.name("rope.dimension_count"), std::to_string(latent.rotary) +
                                                          " leaves nothing of a key of " +
                                                          std::to_string(latent.key_dim));
  }
  config.attention_scale = 1.0f / std::sqrt(static_cast<float>(latent.key_dim));
  // With YaRN these models put its magnitude into the scale of the scores, for the whole of a key,
  // and not into the rotation. The key is a tenth of their own number.
  PAWL_TRY(const float multiplier, keys.number_or("rope.scaling.yarn_log_multiplier", 0.0f));
  if (rope.scaling == RopeScaling::kYarn && multiplier != 0) {
    const double growth = std::log(rope.factor);
    const double magnitude = 1.0 + static_cast<double>(multiplier) * growth;
    config.attention_scale *= static_cast<float>(magnitude * magnitude);
    rope.attention_factor /= 1.0 + 0.1 * growth;
  }
  return {};
}

}  // namespace pawl::model
