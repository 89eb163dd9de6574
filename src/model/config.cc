// SPDX-License-Identifier: Apache-2.0
#include "model/config.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"

namespace pawl::model {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// More than any known model by a wide margin; bounds what a few bytes of metadata can make us
// allocate.
constexpr uint32_t kMaxLayers = 1024;
constexpr uint32_t kMaxDimension = 1u << 20;
constexpr uint32_t kMaxHeadDimension = 1024;

Error bad(const std::string& key, const std::string& message) {
  return Error{ErrorCode::kBadFile, "key '" + key + "': " + message, ""};
}

// Reads "<architecture>.<key>" with the range checks that every size needs.
class Keys {
 public:
  Keys(const gguf::Metadata& metadata, std::string_view architecture)
      : metadata_(metadata), prefix_(std::string(architecture) + ".") {}

  std::string name(std::string_view key) const { return prefix_ + std::string(key); }

  Result<int> size(std::string_view key, uint32_t limit = kMaxDimension) const {
    PAWL_TRY(const uint32_t value, metadata_.get_u32(name(key)));
    return checked(key, value, limit);
  }
  Result<int> size_or(std::string_view key, int fallback, uint32_t limit = kMaxDimension) const {
    if (metadata_.find(name(key)) == nullptr) return fallback;
    return size(key, limit);
  }
  Result<float> number_or(std::string_view key, float fallback) const {
    PAWL_TRY(const float value, metadata_.get_f32_or(name(key), fallback));
    if (!std::isfinite(value)) return bad(name(key), "is not a finite number");
    return value;
  }
  Result<int> checked(std::string_view key, uint32_t value, uint32_t limit) const {
    if (value == 0 || value > limit) {
      return bad(name(key), std::to_string(value) + " is outside 1 … " + std::to_string(limit));
    }
    return static_cast<int>(value);
  }

  const gguf::Metadata& metadata() const { return metadata_; }

 private:
  const gguf::Metadata& metadata_;
  std::string prefix_;
};

Result<RopeConfig> read_rope(const Keys& keys, int head_dim) {
  RopeConfig rope;
  PAWL_TRY(rope.rotary, keys.size_or("rope.dimension_count", head_dim));
  if (rope.rotary > head_dim || rope.rotary % 2 != 0) {
    return bad(keys.name("rope.dimension_count"),
               std::to_string(rope.rotary) + " is not an even number up to the head size " +
                   std::to_string(head_dim));
  }
  PAWL_TRY(const float base, keys.number_or("rope.freq_base", 10000.0f));
  if (base <= 1.0f)
    return bad(keys.name("rope.freq_base"), std::to_string(base) + " is not above 1");
  rope.base = static_cast<double>(base);

  PAWL_TRY(const std::string_view type,
           keys.metadata().get_string_or(keys.name("rope.scaling.type"), "none"));
  if (type == "none") return rope;
  if (type == "linear") {
    rope.scaling = RopeScaling::kLinear;
  } else if (type == "yarn") {
    rope.scaling = RopeScaling::kYarn;
  } else {
    return Error{ErrorCode::kUnsupported,
                 "key '" + keys.name("rope.scaling.type") + "': " + base::quoted_text(type) +
                     " is not supported (none, linear, yarn are)",
                 ""};
  }
  PAWL_TRY(const float factor, keys.number_or("rope.scaling.factor", 1.0f));
  if (factor <= 0.0f)
    return bad(keys.name("rope.scaling.factor"), std::to_string(factor) + " is not above 0");
  rope.factor = static_cast<double>(factor);
  if (rope.scaling == RopeScaling::kYarn) {
    PAWL_TRY(const int original, keys.size("rope.scaling.original_context_length", 1u << 30));
    rope.original_context = original;
    PAWL_TRY(const float attention, keys.number_or("rope.scaling.attn_factor", 1.0f));
    rope.attention_factor = static_cast<double>(attention);
  }
  return rope;
}

Result<void> read_heads(const Keys& keys, int layers, ModelConfig& config) {
  PAWL_TRY(config.heads, keys.size("attention.head_count", 4096));
  std::vector<uint32_t> kv_heads(static_cast<size_t>(layers), static_cast<uint32_t>(config.heads));
  const std::string key = keys.name("attention.head_count_kv");
  if (keys.metadata().find(key) != nullptr) {
    PAWL_TRY(kv_heads, keys.metadata().get_u32_per_layer(key, static_cast<uint32_t>(layers)));
  }
  for (const uint32_t n : kv_heads) {
    if (n == 0 || config.heads % static_cast<int64_t>(n) != 0) {
      return bad(key, std::to_string(n) + " does not divide the " + std::to_string(config.heads) +
                          " query heads");
    }
    config.layers.push_back(LayerConfig{.kv_heads = static_cast<int>(n)});
  }
  PAWL_TRY(config.head_dim,
           keys.size_or("attention.key_length", config.width / config.heads, kMaxHeadDimension));
  PAWL_TRY(config.value_dim,
           keys.size_or("attention.value_length", config.head_dim, kMaxHeadDimension));
  if (config.head_dim < 1 || config.head_dim > static_cast<int>(kMaxHeadDimension)) {
    return bad(keys.name("attention.key_length"),
               "is missing, and " + std::to_string(config.width) + " columns in " +
                   std::to_string(config.heads) + " heads are " + std::to_string(config.head_dim) +
                   " each, outside 1 … " + std::to_string(kMaxHeadDimension));
  }
  if (config.value_dim % 4 != 0) {
    return bad(keys.name("attention.value_length"),
               "head sizes " + std::to_string(config.head_dim) + " and " +
                   std::to_string(config.value_dim) +
                   " have no kernel: the value size must be a multiple of 4");
  }
  return {};
}

Result<void> read_windows(const Keys& keys, ModelConfig& config) {
  const Architecture& row = *config.architecture;
  PAWL_TRY(const RopeConfig rope, read_rope(keys, config.head_dim));
  config.ropes.push_back(rope);
  if (row.global_every == 0) return {};
  PAWL_TRY(const int window, keys.size_or("attention.sliding_window", 0, 1u << 30));
  if (window == 0) return {};
  int local_rope = 0;
  if (row.local_rope_base > 0) {
    config.ropes.push_back(
        RopeConfig{.rotary = rope.rotary, .base = static_cast<double>(row.local_rope_base)});
    local_rope = 1;
  }
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const int n = row.global_every;
    if (static_cast<int>(i) % n == n - 1) continue;
    config.layers[i].window = window;
    config.layers[i].rope = local_rope;
  }
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
  PAWL_TRY(config.feed_forward, keys.size("feed_forward_length"));
  PAWL_TRY(config.context_length, keys.size("context_length", 1u << 30));
  PAWL_TRY(config.norm_epsilon, keys.number_or("attention.layer_norm_rms_epsilon", 1e-5f));
  PAWL_TRY_VOID(read_heads(keys, layers, config));
  PAWL_TRY_VOID(read_windows(keys, config));
  PAWL_TRY(config.attention_cap, keys.number_or("attn_logit_softcapping", 0.0f));
  PAWL_TRY(config.logit_cap, keys.number_or("final_logit_softcapping", 0.0f));

  const Architecture& row = *config.architecture;
  const bool is_wide = row.wide_layers > 0 && layers == row.wide_layers;
  const float divisor = is_wide
                            ? static_cast<float>(config.width) / static_cast<float>(config.heads)
                            : static_cast<float>(config.head_dim);
  config.attention_scale = 1.0f / std::sqrt(divisor);
  if (row.has_scaled_embedding)
    config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  return config;
}

}  // namespace pawl::model
