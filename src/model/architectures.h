// SPDX-License-Identifier: Apache-2.0
// What distinguishes one model family from another, as data: a family is a row. Sizes come from the
// file.
#pragma once

#include <span>
#include <string_view>

#include "kernels/kernels.h"

namespace pawl::model {

enum class Presence { kNever, kOptional, kRequired };

struct Architecture {
  std::string_view name;  // general.architecture
  kernels::Activation activation = kernels::Activation::kSilu;
  kernels::RopeLayout rope_layout = kernels::RopeLayout::kHalves;
  Presence qkv_bias = Presence::kNever;
  Presence qk_norm = Presence::kNever;  // RMS norm of each head of q and k, before rotation
  Presence post_norms =
      Presence::kNever;  // norms of what attention and feed-forward add to the residual
  bool has_scaled_embedding = false;  // times sqrt(width)
  int global_every = 0;  // with a window: layer i is global when i % global_every == global_every -
                         // 1; 0: no windows
  float local_rope_base =
      0;  // rotary base of windowed layers, without scaling; 0: that of the others
  // Attention divides by the square root of the head size, or, in models of `wide_layers` layers,
  // of width / heads.
  int wide_layers = 0;
};

std::span<const Architecture> architectures();
const Architecture* find_architecture(std::string_view name);  // null where there is no row

}  // namespace pawl::model
