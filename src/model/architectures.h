// SPDX-License-Identifier: Apache-2.0
// What distinguishes one model family from another, as data: a family is a row. Sizes come from the
// file.
#pragma once

#include <span>
#include <string_view>

#include "kernels/kernels.h"

namespace pawl::model {

struct ModelConfig;

enum class Presence { kNever, kOptional, kRequired };

enum class Norm { kRms, kLayer };

// What lets the positions of a layer see each other.
enum class Mixer {
  kAttention,
  kLatentAttention,  // keys and values are made of one short vector per position
  // With a state per sequence, in place of keys and values:
  kShortConvolution,  // LFM2: a gated convolution over the last few positions
  kMamba,             // selective state space, a rate per channel and state (arXiv 2312.00752)
  kMamba2,            // the same with a rate per head (arXiv 2405.21060)
  kDeltaNet,          // gated delta rule (arXiv 2412.06464)
};

constexpr bool has_state(Mixer mixer) {
  return mixer >= Mixer::kShortConvolution;
}

// Layers that have the architecture's mixer; the others have plain attention.
enum class MixerLayers {
  kAll,
  kWithoutKvHeads,  // "attention.head_count_kv" is 0
  kByInterval,      // all but every n-th, n being "full_attention_interval"
};

// What attention and feed-forward read.
enum class PreNorm {
  kWeighted,  // the residual stream, normed with weights (and, layer norms, perhaps a bias)
  kPlain,     // normed without weights
  kNone,      // the residual stream itself
};

// What the feed-forward starts from.
enum class Residual {
  kSerial,    // the residual stream with attention's part added
  kParallel,  // the same residual stream as attention; without a norm of its own, attention's input
  kByKey,     // "use_parallel_residual" says which of the two
  kByNorm,    // serial where the feed-forward has a norm of its own, else parallel
};

enum class QkNorm {
  kNone,
  kShared,   // of each head, one vector of weights for all heads
  kPerHead,  // of each head, with its own weights
  kWhole,    // of all heads together
};

// From the router's logits to the weights of the experts that are selected.
enum class Gating {
  kSoftmax,          // softmax over all experts, then the largest
  kSigmoid,          // sigmoid of each, then the largest
  kSoftmaxSelected,  // the largest, then softmax over them
};

// An expert that runs for every token, beside those that are selected.
enum class SharedExpert {
  kNone,
  kPlain,
  kGated,  // times the sigmoid of a product with the input
};

enum class LogitScale { kNone, kMultiplies, kDivides };

struct Architecture {
  std::string_view name;  // general.architecture
  Mixer mixer = Mixer::kAttention;
  MixerLayers mixer_layers = MixerLayers::kAll;
  bool tiles_key_heads = false;  // delta net: value head i has key head i % keys, else i / (values
                                 // / keys)
  Norm norm = Norm::kRms;
  PreNorm pre_norm = PreNorm::kWeighted;
  Residual residual = Residual::kSerial;
  std::string_view feed_forward_norm = "ffn_norm";  // the tensor's name
  std::string_view output_norm = "output_norm";     // the tensor's name
  bool has_feed_forward = true;
  // A second norm of attention's input; the first is then the feed-forward's.
  bool may_have_attention_norm_2 = false;
  Presence post_norms =
      Presence::kNever;  // norms of what attention and feed-forward add to the residual
  bool has_embedding_norm = false;

  kernels::Activation activation = kernels::Activation::kSilu;
  bool has_gate = true;  // down(act(gate(x)) * up(x)), else down(act(up(x)))

  // Key "expert_count"; where it is above 0 all layers after "leading_dense_block_count" have
  // experts.
  Presence experts = Presence::kNever;
  Gating gating = Gating::kSoftmax;   // of files without "expert_gating_func"
  bool norms_expert_weights = false;  // to a sum of 1; of files without "expert_weights_norm"
  SharedExpert shared_expert = SharedExpert::kNone;
  Presence expert_bias = Presence::kNever;  // of the router and of the experts' matrices
  bool has_clamped_experts = false;  // min(g, 7) * sigmoid(1.702 g) * (clamp(u, ±7) + 1) for a gate

  // What attention gives is times the sigmoid of as many numbers, which stand beside the queries.
  bool has_attention_gate = false;
  bool has_sinks = false;  // a score per head that takes part in the softmax and has no value
  Presence qkv_bias = Presence::kNever;
  Presence attention_output_bias = Presence::kNever;
  Presence feed_forward_bias = Presence::kNever;
  Presence output_bias = Presence::kNever;         // of the logits
  QkNorm qk_norm = QkNorm::kNone;                  // of the same kind as `norm`
  bool norms_before_rotation = true;               // q and k
  Presence qk_norm_weights = Presence::kRequired;  // without them there is no such norm

  bool rotates = true;          // q and k, by their positions
  bool rotates_by_key = false;  // not where "rope.scaling.finetuned" is false
  kernels::RopeLayout rope_layout = kernels::RopeLayout::kHalves;
  bool has_learned_positions = false;
  float alibi_max_bias = 0;    // of files that do not say; 0 and no key: no ALiBi
  int global_every = 0;        // with a window: layer i is global when i % global_every ==
                               // global_every - 1; 0: no windows
  float local_rope_base = 0;   // rotary base of windowed layers, without scaling; 0: as the others
  bool rotates_global = true;  // with windows, the layers that have none too
  int unrotated_every = 0;     // layer i is not rotated when i % n == n - 1; 0: all are

  bool has_scaled_embedding = false;  // times sqrt(width)
  // Keys "embedding_scale", "residual_scale", "attention.scale", "logit_scale".
  bool has_scale_keys = false;
  LogitScale logit_scale = LogitScale::kNone;
  void (*scale_defaults)(ModelConfig&) = nullptr;  // before those keys are read
  // Attention divides by the square root of the head size, or, in models of `wide_layers` layers,
  // of width / heads.
  int wide_layers = 0;
};

std::span<const Architecture> architectures();
const Architecture* find_architecture(std::string_view name);  // null where there is no row

}  // namespace pawl::model
