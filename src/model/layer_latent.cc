// SPDX-License-Identifier: Apache-2.0
// Latent attention (arXiv 2405.04434 §2.1). A position's keys and values are all made of one short
// vector, the latent, and of a rotated key that the heads share. Two forms, by the file:
//   plain: keys and values of every head are made and kept; then it is attention as ever.
//   absorbed: the latent and the rotated key are kept, as one key for all heads. What would make
//   keys of the latent is applied to the queries instead, and what would make values to the sums.
#include <algorithm>

#include "model/forward.h"

namespace pawl::model {

void Forward::project_latent(int layer, const float* x) {
  const ModelConfig& c = model_->config();
  const LatentConfig& l = c.latent;
  const LatentAttention& w = model_->weights().layers[static_cast<size_t>(layer)].latent;
  float* queries = l.is_absorbed ? scratch_.latent.queries : scratch_.q;
  const bool has_rank = l.query_rank > 0;
  const Product down[] = {
      {&w.latent, scratch_.latent.latent, nullptr},
      {&w.rotated_key, scratch_.latent.rotated_key, nullptr},
      {has_rank ? &w.query_down : &w.query, has_rank ? scratch_.latent.query : queries, nullptr}};
  multiply(x, tokens_, down);
  pool_.run(tokens_, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      float* latent = scratch_.latent.latent + t * l.rank;
      norm(latent, w.latent_norm.data(), nullptr, l.rank, latent);
      float* query = scratch_.latent.query + t * l.query_rank;
      if (has_rank) norm(query, w.query_norm.data(), nullptr, l.query_rank, query);
    }
  });
  if (has_rank) {
    const Product up{&w.query, queries, nullptr};
    multiply(scratch_.latent.query, tokens_, {&up, 1});
  }
  if (l.is_absorbed) {
    multiply_heads(w.query_up, {queries, int64_t{c.heads} * l.key_dim, l.key_dim},
                   {scratch_.q, int64_t{c.heads} * c.head_dim, c.head_dim});
  } else {
    const Product up{&w.keys_and_values, scratch_.latent.keys_and_values, nullptr};
    multiply(scratch_.latent.latent, tokens_, {&up, 1});
  }
  rotate_and_store_latent(layer);
}

void Forward::rotate_and_store_latent(int layer) {
  const ModelConfig& c = model_->config();
  const LatentConfig& l = c.latent;
  const kernels::RopeLayout rope_layout = c.architecture->rope_layout;
  const int64_t plain = l.plain_dim(), head_made = plain + l.value_dim;
  pool_.run(tokens_, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      const float* cos = scratch_.cos + t * (l.rotary / 2);
      const float* sin = scratch_.sin + t * (l.rotary / 2);
      const float* latent = scratch_.latent.latent + t * l.rank;
      float* shared = scratch_.latent.rotated_key + t * l.rotary;
      table_.rope(shared, 1, l.rotary, l.rotary, rope_layout, cos, sin);
      float* q = scratch_.q + t * c.heads * c.head_dim;
      float* k = scratch_.k + t * c.max_kv_heads() * c.head_dim;
      float* v = scratch_.v + t * c.max_kv_heads() * c.value_dim;
      if (l.is_absorbed) {
        const float* queries = scratch_.latent.queries + t * c.heads * l.key_dim;
        for (int h = 0; h < c.heads; ++h)
          std::copy_n(queries + h * l.key_dim + plain, l.rotary, q + h * c.head_dim + l.rank);
        std::copy_n(latent, l.rank, k);
        std::copy_n(shared, l.rotary, k + l.rank);
        std::copy_n(latent, l.rank, v);
      } else {
        const float* made = scratch_.latent.keys_and_values + t * c.heads * head_made;
        for (int h = 0; h < c.heads; ++h) {
          std::copy_n(made + h * head_made, plain, k + h * c.head_dim);
          std::copy_n(shared, l.rotary, k + h * c.head_dim + plain);
          std::copy_n(made + h * head_made + plain, l.value_dim, v + h * c.value_dim);
        }
      }
      const int64_t rotated = c.head_dim - l.rotary;
      table_.rope(q + rotated, c.heads, c.head_dim, l.rotary, rope_layout, cos, sin);
      store_position(layer, t, k, v);
    }
  });
}

void Forward::multiply_heads(std::span<const Matrix> weights, HeadRows in, HeadRows out) {
  const Matrix& first = weights[0];
  const bool is_a8 = precision_ == Precision::kFast && kernels::has_planes(first.format);
  const int64_t x8_bytes = x8_row_bytes(first.cols);
  pool_.run(static_cast<int64_t>(weights.size()), 1, [&](int64_t begin, int64_t end, int worker) {
    std::byte* x8 = scratch_.latent.x8 + worker * scratch_.latent.x8_bytes;
    for (int64_t h = begin; h < end; ++h) {
      const Matrix& m = weights[static_cast<size_t>(h)];
      for (int64_t t = 0; t < tokens_; t += kHeadTile) {
        const float* x = in.data + t * in.token_stride + h * in.head_stride;
        kernels::MatmulTile tile{};
        tile.format = m.format;
        tile.w = m.packed;
        tile.row_blocks = m.row_blocks();
        tile.rows = m.rows;
        tile.cols = m.cols;
        tile.tokens = std::min(kHeadTile, tokens_ - t);
        tile.x = reinterpret_cast<const std::byte*>(x);
        tile.x_row_bytes = in.token_stride * static_cast<int64_t>(sizeof(float));
        if (is_a8) {
          for (int64_t i = 0; i < tile.tokens; ++i)
            table_.quantize_a8(x + i * in.token_stride, m.cols, x8 + i * x8_bytes);
          tile.x = x8;
          tile.x_row_bytes = x8_bytes;
        }
        tile.out = out.data + t * out.token_stride + h * out.head_stride;
        tile.out_stride = out.token_stride;
        (is_a8 ? table_.matmul_a8 : table_.matmul_f32)(tile);
      }
    }
  });
}

}  // namespace pawl::model
