// SPDX-License-Identifier: Apache-2.0
#include "model/architectures.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/config.h"

namespace pawl::model {
namespace {

using kernels::Activation;
using kernels::RopeLayout;

// MiniCPM files from before the keys existed (arXiv 2404.06395 §3: depth and width scaling).
void minicpm_scales(ModelConfig& config) {
  config.embedding_scale = 12.0f;
  config.residual_scale = 1.4f / std::sqrt(static_cast<float>(config.layers.size()));
  config.logit_scale = 256.0f / static_cast<float>(config.width);
}

constexpr std::array kArchitectures = {
    // Also Mistral, Yi, SmolLM, DeepSeek dense and other models that are stored under this name.
    // With experts Mixtral.
    Architecture{.name = "llama",
                 .experts = Presence::kOptional,
                 .norms_expert_weights = true,
                 .qkv_bias = Presence::kOptional,
                 .rope_layout = RopeLayout::kPairs},
    Architecture{.name = "qwen2", .qkv_bias = Presence::kRequired},
    Architecture{.name = "qwen3", .qk_norm = QkNorm::kShared},
    Architecture{.name = "qwen2moe",
                 .experts = Presence::kRequired,
                 .shared_expert = SharedExpert::kGated,
                 .qkv_bias = Presence::kRequired},
    Architecture{.name = "qwen3moe",
                 .experts = Presence::kRequired,
                 .norms_expert_weights = true,
                 .qk_norm = QkNorm::kShared},
    Architecture{.name = "olmoe", .experts = Presence::kRequired, .qk_norm = QkNorm::kWhole},
    Architecture{.name = "granitemoe",
                 .experts = Presence::kRequired,
                 .norms_expert_weights = true,
                 .shared_expert = SharedExpert::kPlain,
                 .qkv_bias = Presence::kOptional,
                 .rope_layout = RopeLayout::kPairs,
                 .has_scale_keys = true,
                 .logit_scale = LogitScale::kDivides},
    Architecture{.name = "deepseek2",
                 .mixer = Mixer::kLatentAttention,
                 .experts = Presence::kOptional,
                 .shared_expert = SharedExpert::kPlain,
                 .rope_layout = RopeLayout::kPairs},
    Architecture{.name = "glm4moe",
                 .feed_forward_norm = "post_attention_norm",
                 .experts = Presence::kRequired,
                 .gating = Gating::kSigmoid,
                 .norms_expert_weights = true,
                 .shared_expert = SharedExpert::kPlain,
                 .qkv_bias = Presence::kOptional,
                 .qk_norm = QkNorm::kShared,
                 .qk_norm_weights = Presence::kOptional},
    Architecture{.name = "gpt-oss",
                 .feed_forward_norm = "post_attention_norm",
                 .experts = Presence::kRequired,
                 .gating = Gating::kSoftmaxSelected,
                 .expert_bias = Presence::kRequired,
                 .has_clamped_experts = true,
                 .has_sinks = true,
                 .qkv_bias = Presence::kRequired,
                 .attention_output_bias = Presence::kRequired,
                 .global_every = 2},
    Architecture{.name = "seed_oss",
                 .feed_forward_norm = "post_attention_norm",
                 .qkv_bias = Presence::kRequired},
    Architecture{.name = "gemma", .activation = Activation::kGelu, .has_scaled_embedding = true},
    Architecture{.name = "gemma2",
                 .post_norms = Presence::kRequired,
                 .activation = Activation::kGelu,
                 .global_every = 2,
                 .has_scaled_embedding = true,
                 .wide_layers = 46},
    Architecture{.name = "gemma3",
                 .post_norms = Presence::kRequired,
                 .activation = Activation::kGelu,
                 .qk_norm = QkNorm::kShared,
                 .global_every = 6,
                 .local_rope_base = 10000.0f,
                 .has_scaled_embedding = true,
                 .wide_layers = 62},
    Architecture{.name = "phi3"},
    Architecture{
        .name = "internlm2", .qkv_bias = Presence::kOptional, .rope_layout = RopeLayout::kPairs},
    Architecture{
        .name = "ernie4_5", .qkv_bias = Presence::kOptional, .rope_layout = RopeLayout::kPairs},
    Architecture{.name = "smollm3", .rope_layout = RopeLayout::kPairs, .unrotated_every = 4},
    Architecture{.name = "glm4",
                 .post_norms = Presence::kRequired,
                 .qkv_bias = Presence::kOptional,
                 .rope_layout = RopeLayout::kPairs},
    Architecture{.name = "exaone4",
                 .pre_norm = PreNorm::kNone,
                 .post_norms = Presence::kRequired,
                 .qk_norm = QkNorm::kShared,
                 .global_every = 4,
                 .rotates_global = false},
    Architecture{.name = "granite",
                 .qkv_bias = Presence::kOptional,
                 .rope_layout = RopeLayout::kPairs,
                 .has_scale_keys = true,
                 .logit_scale = LogitScale::kDivides},
    Architecture{.name = "minicpm",
                 .rope_layout = RopeLayout::kPairs,
                 .has_scale_keys = true,
                 .logit_scale = LogitScale::kDivides,
                 .scale_defaults = minicpm_scales},
    Architecture{.name = "olmo",
                 .norm = Norm::kLayer,
                 .pre_norm = PreNorm::kPlain,
                 .rope_layout = RopeLayout::kPairs},
    Architecture{.name = "olmo2",  // also OLMo 3, whose files have a window
                 .pre_norm = PreNorm::kNone,
                 .post_norms = Presence::kRequired,
                 .qk_norm = QkNorm::kWhole,
                 .global_every = 4},
    Architecture{.name = "command-r",
                 .norm = Norm::kLayer,
                 .residual = Residual::kParallel,
                 .qk_norm = QkNorm::kPerHead,
                 .qk_norm_weights = Presence::kOptional,
                 .rope_layout = RopeLayout::kPairs,
                 .has_scale_keys = true,
                 .logit_scale = LogitScale::kMultiplies},
    Architecture{.name = "cohere2",
                 .norm = Norm::kLayer,
                 .residual = Residual::kParallel,
                 .qkv_bias = Presence::kOptional,
                 .rope_layout = RopeLayout::kPairs,
                 .global_every = 4,
                 .rotates_global = false,
                 .has_scale_keys = true,
                 .logit_scale = LogitScale::kMultiplies},
    Architecture{.name = "stablelm",
                 .norm = Norm::kLayer,
                 .residual = Residual::kByNorm,
                 .qkv_bias = Presence::kOptional,
                 .qk_norm = QkNorm::kPerHead,
                 .qk_norm_weights = Presence::kOptional},
    Architecture{.name = "starcoder2",
                 .norm = Norm::kLayer,
                 .activation = Activation::kGelu,
                 .has_gate = false,
                 .qkv_bias = Presence::kOptional,
                 .attention_output_bias = Presence::kOptional,
                 .feed_forward_bias = Presence::kOptional},
    Architecture{.name = "gpt2",
                 .norm = Norm::kLayer,
                 .activation = Activation::kGelu,
                 .has_gate = false,
                 .qkv_bias = Presence::kRequired,
                 .attention_output_bias = Presence::kRequired,
                 .feed_forward_bias = Presence::kRequired,
                 .rotates = false,
                 .has_learned_positions = true},
    Architecture{.name = "gptneox",
                 .norm = Norm::kLayer,
                 .residual = Residual::kByKey,
                 .activation = Activation::kGelu,
                 .has_gate = false,
                 .qkv_bias = Presence::kRequired,
                 .attention_output_bias = Presence::kRequired,
                 .feed_forward_bias = Presence::kRequired},
    Architecture{.name = "phi2",
                 .norm = Norm::kLayer,
                 .residual = Residual::kParallel,
                 .activation = Activation::kGelu,
                 .has_gate = false,
                 .qkv_bias = Presence::kRequired,
                 .attention_output_bias = Presence::kRequired,
                 .feed_forward_bias = Presence::kRequired,
                 .output_bias = Presence::kRequired},
    Architecture{.name = "falcon",
                 .norm = Norm::kLayer,
                 .residual = Residual::kParallel,
                 .may_have_attention_norm_2 = true,
                 .activation = Activation::kGelu,
                 .has_gate = false},
    Architecture{.name = "bloom",
                 .norm = Norm::kLayer,
                 .has_embedding_norm = true,
                 .activation = Activation::kGelu,
                 .has_gate = false,
                 .qkv_bias = Presence::kRequired,
                 .attention_output_bias = Presence::kRequired,
                 .feed_forward_bias = Presence::kRequired,
                 .rotates = false,
                 .alibi_max_bias = 8.0f},
    Architecture{.name = "mpt",
                 .norm = Norm::kLayer,
                 .activation = Activation::kGelu,
                 .has_gate = false,
                 .qkv_bias = Presence::kOptional,
                 .attention_output_bias = Presence::kOptional,
                 .feed_forward_bias = Presence::kOptional,
                 .rotates = false},
    Architecture{.name = "nemotron",
                 .norm = Norm::kLayer,
                 .activation = Activation::kReluSquared,
                 .has_gate = false,
                 .qkv_bias = Presence::kOptional,
                 .attention_output_bias = Presence::kOptional,
                 .feed_forward_bias = Presence::kOptional},
};

// A parallel feed-forward reads attention's input after attention has been added to the stream.
static_assert(std::ranges::none_of(kArchitectures, [](const Architecture& row) {
  return row.pre_norm == PreNorm::kNone && row.residual != Residual::kSerial;
}));

}  // namespace

std::span<const Architecture> architectures() {
  return kArchitectures;
}

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture& row : kArchitectures) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace pawl::model
