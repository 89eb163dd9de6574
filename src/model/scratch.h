// SPDX-License-Identifier: Apache-2.0
// Every buffer of a forward pass, sized once: the step allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "kernels/kernels.h"
#include "model/config.h"
#include "model/weights.h"

namespace pawl::model {

// Of a row of 8-bit activations, whole groups.
inline int64_t x8_row_bytes(int64_t columns) {
  return kernels::a8_row_bytes((columns + 31) / 32 * 32);
}

// What a Forward must be able to hold.
struct Limits {
  int max_tokens = 512;          // in one batch
  int max_rows = 1;              // of logits in one batch
  int64_t max_positions = 2048;  // of one sequence
  // What keys and values are kept as; in reference mode it is f32, whatever stands here.
  kernels::KvType kv_type = kernels::KvType::kF16;
};

// A piece of attention that one thread computes (attention.cc).
struct AttentionTask {
  int segment;
  int kv_head;
  int first_head, heads;    // query heads, all of that KV head's group
  int token_begin, tokens;  // within the segment
  int64_t span_begin, span_end;
  int64_t partial;  // index of its state among the partial ones, or -1: the task finishes its rows
                    // itself
};

// Rows whose spans were computed by several tasks.
struct FoldTask {
  AttentionTask rows;
  int64_t first_partial, partials;
};

// What an adapter adds is computed in tiles of so many tokens and rows.
constexpr int64_t kAdapterTokens = 16;
constexpr int64_t kAdapterRows = 128;

// Tokens that share one pass over a piece: their activations stay in the second-level cache.
constexpr int64_t kTokenTile = 64;
// Hidden activations that a thread computes and finishes at once.
constexpr int64_t kHiddenTile = kTokenTile * 128;

// Tokens that share one pass over a head's matrix.
constexpr int64_t kHeadTile = 16;

// Of latent attention; nothing where the model has none.
struct LatentScratch {
  float* latent;           // [T, rank]
  float* rotated_key;      // [T, rotary]
  float* query;            // [T, query_rank]
  float* queries;          // absorbed: [T, heads * key_dim]
  float* keys_and_values;  // not absorbed: [T, heads * (plain + value_dim)]
  float* values;           // absorbed: [T, heads * value_dim]
  std::byte* x8;           // [threads][kHeadTile] rows of 8-bit activations of one head
  int64_t x8_bytes;        // of one thread
};

// Of layers with a state; nothing where the model has none.
struct StateScratch {
  float* channels;    // [T, channels]  what is convolved
  float* gates;       // [T, inner]
  float* steps;       // [T, inner] or [T, heads]
  float* decays;      // [T, heads]
  float* betas;       // [T, heads]
  float* step_down;   // [T, step_rank]
  float* write_read;  // [T, 2 * states]
  float* mixed;       // [T, inner]
};

// T = max_tokens, R = max_rows. All 64-byte aligned. q, k, v, attended, latent and state share
// their memory with gate and up.
struct Scratch {
  static base::Result<Scratch> create(const ModelConfig& config, const Limits& limits, int threads);

  float* x;         // [T, width]   the residual stream
  float* normed;    // [T, width]
  float* q;         // [T, heads * head_dim]
  float* k;         // [T, kv_heads * head_dim]
  float* v;         // [T, kv_heads * value_dim]
  float* attended;  // [T, heads * value_dim]
  LatentScratch latent;
  StateScratch state;
  float* added;  // [T, width]   what attention or feed-forward adds to x
  float* gate;   // hidden activations: [T, feed_forward], or of as many rows as experts are given
  float* up;
  float* hidden_tiles;  // [threads][2][kHiddenTile]
  std::byte* x8;        // [T] rows of 8-bit activations, of the widest input
  std::byte* hidden8;   // [T] of them, of hidden activations
  float* logits;        // [R, vocabulary]
  float* cos;           // [ropes][T, pairs]
  float* sin;
  int64_t* positions;  // [T]

  // Experts, K of them used by a token; nothing where the model has none.
  float* router;          // [T, experts]
  float* expert_weights;  // [T, K]
  int32_t* selected;      // [T, K]
  int64_t* slots;         // [T, K] the row of expert_in and expert_out
  int64_t* expert_begin;  // [experts + 1]
  int64_t* expert_next;   // [experts]
  int32_t* expert_order;  // [threads][experts]
  float* expert_in;       // [T * K, width]
  float* expert_out;      // [T * K, width]

  // Of adapters; nothing where the model has none.
  float* adapted;        // [T, all ranks of one matrix]
  float* adapted_tiles;  // [threads][kAdapterTokens][kAdapterRows]

  // Attention: one state of kAttentionRows rows per thread, block pointers per thread, and the
  // partial states.
  int64_t state_floats;  // of one state
  float* states;         // [threads]
  std::byte* attention;  // [threads] kernels::attention_scratch_bytes
  int64_t attention_bytes;
  int64_t max_blocks;
  const std::byte** blocks;  // [threads][2][max_blocks]
  int64_t max_partials;
  int64_t partial_floats;  // of one partial state, kPartialRows rows
  float* partials;
  std::vector<AttentionTask> tasks;
  std::vector<FoldTask> folds;

  base::Arena arena;
};

// The most rows (tokens * heads) whose spans are given to several tasks.
constexpr int kPartialRows = 16;

}  // namespace pawl::model
