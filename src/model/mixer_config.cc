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

// Of the last inputs of a convolution and what is kept in states, in floats.
int64_t layer_floats(const ModelConfig& config) {
  const StateConfig& s = config.state;
  const int64_t window = int64_t{s.taps - 1} * s.channels;
  return (window + 15) / 16 * 16 + (int64_t{s.states} * s.inner + 15) / 16 * 16;
}

Result<void> read_state_space(const Keys& keys, ModelConfig& config) {
  StateConfig& s = config.state;
  PAWL_TRY(s.inner, keys.size("ssm.inner_size"));
  PAWL_TRY(s.states, keys.size("ssm.state_size", kMaxHeadDimension));
  if (config.architecture->mixer == Mixer::kMamba) {
    PAWL_TRY(s.step_rank, keys.size("ssm.time_step_rank"));
    PAWL_TRY(s.norms_chosen, keys.flag_or("ssm.dt_b_c_rms", false));
    s.channels = s.inner;
    return {};
  }
  PAWL_TRY(s.heads, keys.size("ssm.time_step_rank"));
  PAWL_TRY(s.groups, keys.size("ssm.group_count"));
  if (s.inner % s.heads != 0 || s.heads % s.groups != 0) {
    return bad_key(keys.name("ssm.time_step_rank"),
                   std::to_string(s.heads) + " heads do not divide the " + std::to_string(s.inner) +
                       " of 'ssm.inner_size' or are no multiple of the " +
                       std::to_string(s.groups) + " of 'ssm.group_count'");
  }
  // Both convolve what reads and writes (keys and queries) along with what is written.
  const int64_t channels = s.inner + int64_t{2} * s.groups * s.states;
  if (channels > kMaxDimension) {
    return bad_key(keys.name("ssm.group_count"), std::to_string(s.groups) + " groups of " +
                                                     std::to_string(s.states) +
                                                     " states are too many");
  }
  s.channels = static_cast<int>(channels);
  return {};
}

Result<void> read_state_sizes(const Keys& keys, ModelConfig& config) {
  constexpr uint32_t kMaxTaps = 64;
  StateConfig& s = config.state;
  const bool is_convolution = config.architecture->mixer == Mixer::kShortConvolution;
  const std::string_view key = is_convolution ? "shortconv.l_cache" : "ssm.conv_kernel";
  PAWL_TRY(s.taps, keys.size(key, kMaxTaps));
  if (s.taps < 2) return bad_key(keys.name(key), "1 is outside 2 … " + std::to_string(kMaxTaps));
  if (!is_convolution) return read_state_space(keys, config);
  s.channels = config.width;
  return {};
}

}  // namespace

Result<void> read_states(const Keys& keys, ModelConfig& config) {
  const Architecture& row = *config.architecture;
  if (!has_state(row.mixer)) return {};
  PAWL_TRY_VOID(read_state_sizes(keys, config));
  int interval = 0;
  if (row.mixer_layers == MixerLayers::kByInterval) {
    PAWL_TRY(interval, keys.size_or("full_attention_interval", 4, 1024));
  }
  int index = 0;
  for (LayerConfig& layer : config.layers) {
    const bool is_attention =
        (row.mixer_layers == MixerLayers::kWithoutKvHeads && layer.kv_heads > 0) ||
        (interval > 0 && ++index % interval == 0);
    if (is_attention) {
      layer.mixer = Mixer::kAttention;
      continue;
    }
    layer.kv_heads = 0;
    layer.state_offset = config.state_floats;
    config.state_floats += layer_floats(config);
  }
  return {};
}

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
