// SPDX-License-Identifier: Apache-2.0
// A forward pass: batch → logits. It knows no rule by which a token is picked, and no request.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/task_pool.h"
#include "kernels/kernels.h"
#include "kv/block_pool.h"
#include "kv/layout.h"
#include "model/batch.h"
#include "model/largest.h"
#include "model/model.h"
#include "model/rope.h"
#include "model/scratch.h"

namespace pawl::model {

enum class Precision {
  kFast,       // activations in 8 bits for quantised weights, keys and values as Limits::kv_type
  kReference,  // activations, keys and values in f32
};

inline kernels::KvType kv_type_of(Precision precision, kernels::KvType wanted) {
  return precision == Precision::kReference ? kernels::KvType::kF32 : wanted;
}

// Row-blocks of a product that one thread claims at a time.
int64_t piece_blocks(const Matrix& matrix, int threads);

// Logits do not depend, to the last bit, on how positions are cut into batches, on what else is in
// a batch, on the thread count or on the kernel variant. Keys and values are read as they were
// stored, also within one batch. Threads: one run at a time; it works on `pool`.
class Forward {
 public:
  // model, table: shared, immutable. pool, blocks: outlive this object.
  static base::Result<Forward> create(std::shared_ptr<const Model> model,
                                      const kernels::Table& table, base::TaskPool& pool,
                                      kv::BlockPool& blocks, Precision precision,
                                      const Limits& limits);

  // REQUIRES: ids within the vocabulary; tokens, wanted rows and positions within the limits; each
  // segment's blocks cover its positions. Writes keys and values of all positions of the batch.
  Logits run(const Batch& batch);

  const Limits& limits() const { return limits_; }
  const LargestCounts& largest_counts() const { return search_.counts(); }

 private:
  struct Product {
    const Matrix* weights;
    float* out;         // [tokens, rows]
    const float* bias;  // [rows] or null
  };

  Forward(std::shared_ptr<const Model> model, const kernels::Table& table, base::TaskPool& pool,
          kv::BlockPool& blocks, Precision precision, const Limits& limits, Scratch scratch);

  // forward.cc
  void place_tokens(const Batch& batch);
  void embed();
  void keep_wanted_rows(float* made, int64_t cols);
  void add_to_residual(const Vector& post_norm);
  // As the architecture has it; weight and bias may be null.
  void norm(const float* x, const float* weight, const float* bias, int64_t n, float* out) const;
  void norm_rows(const float* x, const Vector& weight, const Vector& bias, float* out,
                 int64_t rows);
  const float* read_input(const Vector& norm_weight, const Vector& norm_bias);
  void pool_hidden_states();
  // products.cc: each product's out[t, r] = weights · x[t], plus bias; all from the same input
  // rows.
  void multiply(const float* x, int64_t tokens, std::span<const Product> products) {
    multiply(input_of(x, tokens, products), tokens, products);
  }
  // Activations as products read them: floats, and what takes 8 bits those. Adapters read floats.
  struct Input {
    const float* x;       // [tokens, cols]
    const std::byte* x8;  // rows of x8_bytes
    int64_t cols, x8_bytes;
  };
  // Some row-blocks for some tokens; out: the first row of the first token.
  struct Piece {
    int64_t block, blocks, rows;
    int64_t token, tokens;
    float* out;
    int64_t out_stride;
  };
  bool takes_a8(const Matrix& matrix) const;
  Input input_of(const float* x, int64_t tokens, std::span<const Product> products);
  void multiply(const Input& input, int64_t tokens, std::span<const Product> products);
  void multiply_piece(const Input& input, const Product& product, const Piece& piece);
  // projection.cc
  Logits project();
  bool find_largest();
  // adapters.cc
  void add_adapters(const float* x, int64_t tokens, const Product& product);
  // attention.cc
  void project_inputs(int layer, const float* x);
  void attention_layer(int layer, const float* x);
  void apply_gate(const Matrix& gate, const float* x);
  // Where a batch's token belongs.
  size_t segment_of(int64_t token) const;
  void store_position(int layer, int64_t token, const float* k, const float* v);
  void rotate_and_store(int layer);
  void norm_heads(float* heads, int count, const Vector& weight) const;
  void plan_attention(int layer);
  void attend(int layer);
  void run_attention_task(int layer, const AttentionTask& task, int worker);
  void finish_rows(const AttentionTask& task, kernels::AttentionState state);
  // layer_latent.cc
  void project_latent(int layer, const float* x);
  void rotate_and_store_latent(int layer);
  // out[t, h] = weights[h] · in[t, h] for all tokens; strides in floats.
  struct HeadRows {
    float* data;
    int64_t token_stride, head_stride;
  };
  void multiply_heads(std::span<const Matrix> weights, HeadRows in, HeadRows out);
  // layer_state.cc: added = what a layer with a state makes of x, for all tokens.
  void state_layer(int layer, const float* x);
  const StateWeights& state_weights(int layer) const;
  float* window_of(size_t segment, int layer) const;
  float* state_of(size_t segment, int layer) const;
  void begin_states();
  // part(segment, begin, end) for all segments and all of [0, count), `tile` at a time.
  template <typename F>
  void run_by_segment(int64_t count, int64_t tile, F&& part);
  void convolve(int layer);
  void activate_channels();
  void short_convolution(int layer, const float* x);
  // layer_mamba.cc
  void mamba(int layer, const float* x);
  void norm_chosen();
  void scan_channels(int layer, size_t segment, int64_t begin, int64_t end);
  void mamba2(int layer, const float* x);
  void find_decays(int layer);
  void scan_head(int layer, size_t segment, int64_t head);
  // layer_delta.cc
  void delta_net(int layer, const float* x);
  void norm_queries_and_keys();
  void apply_delta(int layer, size_t segment, int64_t head);
  // feed_forward.cc
  struct HiddenPlan {
    int64_t hidden, x8_bytes;
    kernels::Activation activation;
    bool is_clamped;
    bool is_a8, keeps_floats;  // what the product behind it reads: rows of hidden8, of up, or both
  };
  void finish_hidden(const HiddenPlan& plan, int64_t token, int64_t column, int64_t count,
                     float* gate, float* up);
  void multiply_hidden(const HiddenPlan& plan, const Input& input, int64_t tokens,
                       const Product& up, const Product* gate);
  // out = its output for `tokens` rows of x. Clobbers gate, up and hidden8.
  void feed_forward(const FeedForward& w, int64_t hidden, bool is_clamped, const float* x,
                    int64_t tokens, float* out);
  // experts.cc: the same for a layer with experts, of all tokens, to `added`.
  void expert_layer(const Experts& w, const float* x);
  void route(const Experts& w, const float* x);
  void sort_by_expert(const float* x);
  void add_experts(const Experts& w, const float* x);

  std::shared_ptr<const Model> model_;
  const kernels::Table& table_;
  base::TaskPool& pool_;
  kv::BlockPool& blocks_;
  kv::Layout layout_;
  Precision precision_;
  kernels::KvType kv_type_;
  Limits limits_;
  Scratch scratch_;
  std::vector<Rope> ropes_;

  // Of the batch at hand; in the last layer, of what is left of it.
  std::vector<Segment> segments_;
  int64_t tokens_ = 0;
  LargestSearch search_;
  const float* sinks_ = nullptr;         // of the layer at hand
  std::vector<int64_t> segment_starts_;  // index of each segment's first token in the batch
};

template <typename F>
void Forward::run_by_segment(int64_t count, int64_t tile, F&& part) {
  const int64_t tiles = (count + tile - 1) / tile;
  pool_.run(static_cast<int64_t>(segments_.size()) * tiles, 1,
            [&](int64_t begin, int64_t end, int) {
              for (int64_t i = begin; i < end; ++i) {
                const int64_t first = i % tiles * tile;
                part(static_cast<size_t>(i / tiles), first, std::min(first + tile, count));
              }
            });
}

}  // namespace pawl::model
