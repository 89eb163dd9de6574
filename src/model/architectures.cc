// SPDX-License-Identifier: Apache-2.0
#include "model/architectures.h"

#include <array>

namespace pawl::model {
namespace {

using kernels::Activation;
using kernels::RopeLayout;

constexpr std::array kArchitectures = {
    // Also Mistral, Yi, SmolLM, DeepSeek dense and other models that are stored under this name.
    Architecture{
        .name = "llama", .rope_layout = RopeLayout::kPairs, .qkv_bias = Presence::kOptional},
    Architecture{.name = "qwen2", .qkv_bias = Presence::kRequired},
    Architecture{.name = "qwen3", .qk_norm = Presence::kRequired},
    Architecture{.name = "gemma", .activation = Activation::kGelu, .has_scaled_embedding = true},
    Architecture{.name = "gemma2",
                 .activation = Activation::kGelu,
                 .post_norms = Presence::kRequired,
                 .has_scaled_embedding = true,
                 .global_every = 2,
                 .wide_layers = 46},
    Architecture{.name = "gemma3",
                 .activation = Activation::kGelu,
                 .qk_norm = Presence::kRequired,
                 .post_norms = Presence::kRequired,
                 .has_scaled_embedding = true,
                 .global_every = 6,
                 .local_rope_base = 10000.0f,
                 .wide_layers = 62},
};

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
