// SPDX-License-Identifier: Apache-2.0
// Attention of one layer: project, rotate, store keys and values, then attend. The work is cut by
// KV head, query heads, positions and, where there would be too few pieces, by spans of the context
// that are folded afterwards.
#include <algorithm>

#include "model/forward.h"

namespace pawl::model {
namespace {

// The parts of one state of `rows` rows, each 64-byte aligned.
kernels::AttentionState state_at(float* base, int64_t rows) {
  const int64_t padded = (rows + 15) / 16 * 16;
  return {base, base + padded, base + 2 * padded};
}

void reset(kernels::AttentionState state, int64_t rows, int value_dim) {
  std::fill_n(state.m, rows, -__builtin_inff());
  std::fill_n(state.l, rows, 0.0f);
  std::fill_n(state.acc, rows * value_dim, 0.0f);
}

}  // namespace

void Forward::project_inputs(int layer, const float* x) {
  const LayerWeights& w = model_->weights().layers[static_cast<size_t>(layer)];
  if (model_->config().layers[static_cast<size_t>(layer)].mixer == Mixer::kLatentAttention)
    return project_latent(layer, x);
  const auto bias = [](const Vector& b) { return b.empty() ? nullptr : b.data(); };
  const Product inputs[] = {{&w.q, scratch_.q, bias(w.q_bias)},
                            {&w.k, scratch_.k, bias(w.k_bias)},
                            {&w.v, scratch_.v, bias(w.v_bias)}};
  multiply(x, tokens_, inputs);
  rotate_and_store(layer);
}

void Forward::attention_layer(int layer, const float* x) {
  const LayerWeights& w = model_->weights().layers[static_cast<size_t>(layer)];
  plan_attention(layer);
  sinks_ = w.sinks.empty() ? nullptr : w.sinks.data();
  attend(layer);
  const Product output{&w.output, scratch_.added,
                       w.output_bias.empty() ? nullptr : w.output_bias.data()};
  if (w.attention_gate.packed != nullptr) apply_gate(w.attention_gate, x);
  const float* values = scratch_.attended;
  if (!w.latent.value_up.empty()) {
    const ModelConfig& c = model_->config();
    const int64_t rank = c.latent.rank, value_dim = c.latent.value_dim;
    multiply_heads(w.latent.value_up, {scratch_.attended, c.heads * rank, rank},
                   {scratch_.latent.values, c.heads * value_dim, value_dim});
    values = scratch_.latent.values;
  }
  multiply(values, tokens_, {&output, 1});
}

// The queries are used up: their place takes the gate.
void Forward::apply_gate(const Matrix& gate, const float* x) {
  const Product product{&gate, scratch_.q, nullptr};
  multiply(x, tokens_, {&product, 1});
  pool_.run(tokens_ * gate.rows, 2048, [&](int64_t begin, int64_t end, int) {
    table_.sigmoid(scratch_.q + begin, end - begin);
    table_.multiply(scratch_.attended + begin, scratch_.q + begin, end - begin);
  });
}

size_t Forward::segment_of(int64_t token) const {
  const auto after = std::upper_bound(segment_starts_.begin(), segment_starts_.end(), token);
  return static_cast<size_t>(after - segment_starts_.begin()) - 1;
}

// k, v: of all heads.
void Forward::store_position(int layer, int64_t token, const float* k, const float* v) {
  const ModelConfig& c = model_->config();
  const int64_t position = scratch_.positions[token];
  const kv::BlockTable& table = *segments_[segment_of(token)].blocks;
  std::byte* bytes = blocks_.bytes(table[static_cast<size_t>(position / kv::kBlockPositions)]);
  for (int h = 0; h < c.layers[static_cast<size_t>(layer)].kv_heads; ++h) {
    table_.store_kv(kv_type_, k + int64_t{h} * c.head_dim, c.head_dim, v + int64_t{h} * c.value_dim,
                    c.value_dim, static_cast<int>(position % kv::kBlockPositions),
                    bytes + layout_.k_offset(layer, h), bytes + layout_.v_offset(layer, h));
  }
}

void Forward::rotate_and_store(int layer) {
  const ModelConfig& c = model_->config();
  const LayerConfig& layer_config = c.layers[static_cast<size_t>(layer)];
  const LayerWeights& w = model_->weights().layers[static_cast<size_t>(layer)];
  const kernels::RopeLayout rope_layout = c.architecture->rope_layout;
  const bool rotates = layer_config.rope >= 0;
  const int rotary = rotates ? c.ropes[static_cast<size_t>(layer_config.rope)].rotary : 0;

  const auto prepare = [&](float* heads, int count, const Vector& weight, const float* cos,
                           const float* sin) {
    if (c.qkv_clamp > 0) table_.clamp(heads, c.qkv_clamp, int64_t{count} * c.head_dim);
    const bool is_first = c.architecture->norms_before_rotation;
    if (is_first && !weight.empty()) norm_heads(heads, count, weight);
    if (rotates) table_.rope(heads, count, c.head_dim, rotary, rope_layout, cos, sin);
    if (!is_first && !weight.empty()) norm_heads(heads, count, weight);
  };
  pool_.run(tokens_, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t angles =
          rotates ? (int64_t{layer_config.rope} * limits_.max_tokens + t) * (rotary / 2) : 0;
      float* k = scratch_.k + t * layer_config.kv_heads * c.head_dim;
      float* v = scratch_.v + t * layer_config.kv_heads * c.value_dim;
      if (c.qkv_clamp > 0)
        table_.clamp(v, c.qkv_clamp, int64_t{layer_config.kv_heads} * c.value_dim);
      prepare(scratch_.q + t * c.heads * c.head_dim, c.heads, w.q_norm, scratch_.cos + angles,
              scratch_.sin + angles);
      prepare(k, layer_config.kv_heads, w.k_norm, scratch_.cos + angles, scratch_.sin + angles);
      store_position(layer, t, k, v);
    }
  });
}

void Forward::norm_heads(float* heads, int count, const Vector& weight) const {
  const ModelConfig& c = model_->config();
  if (c.architecture->qk_norm == QkNorm::kWhole) {
    return norm(heads, weight.data(), nullptr, int64_t{count} * c.head_dim, heads);
  }
  const int64_t step = c.architecture->qk_norm == QkNorm::kPerHead ? c.head_dim : 0;
  for (int h = 0; h < count; ++h) {
    float* head = heads + int64_t{h} * c.head_dim;
    norm(head, weight.data() + h * step, nullptr, c.head_dim, head);
  }
}

void Forward::plan_attention(int layer) {
  const ModelConfig& c = model_->config();
  const LayerConfig& layer_config = c.layers[static_cast<size_t>(layer)];
  const int group = c.heads / layer_config.kv_heads;
  scratch_.tasks.clear();
  scratch_.folds.clear();

  // Few queries (decode): heads of one group go to several threads, each reads the keys for itself.
  const bool is_small = tokens_ * layer_config.kv_heads < 2 * pool_.threads();
  const int share = is_small ? (group + pool_.threads() - 1) / pool_.threads() : group;
  const int heads = std::min(share, kernels::kAttentionRows);
  const int tile_tokens = std::clamp(kernels::kAttentionRows / heads, 1, 16);
  int64_t partials = 0;
  for (int s = 0; s < static_cast<int>(segments_.size()); ++s) {
    const Segment& segment = segments_[static_cast<size_t>(s)];
    const int count = static_cast<int>(segment.ids.size());
    for (int token = 0; token < count; token += tile_tokens) {
      const int tokens = std::min(tile_tokens, count - token);
      const int64_t first = segment.first_position + token;
      const int64_t oldest =
          layer_config.window > 0 ? std::max<int64_t>(0, first - layer_config.window + 1) : 0;
      const int64_t span_begin = oldest / kernels::kKvSpan;
      const int64_t span_end = (first + tokens - 1) / kernels::kKvSpan + 1;
      for (int kv_head = 0; kv_head < layer_config.kv_heads; ++kv_head) {
        for (int head = 0; head < group; head += heads) {
          AttentionTask task{s,
                             kv_head,
                             kv_head * group + head,
                             std::min(heads, group - head),
                             token,
                             tokens,
                             span_begin,
                             span_end,
                             -1};
          const int64_t spans = span_end - span_begin;
          if (!is_small || spans == 1 || tokens * task.heads > kPartialRows ||
              partials + spans > scratch_.max_partials) {
            scratch_.tasks.push_back(task);
            continue;
          }
          scratch_.folds.push_back({task, partials, spans});
          for (int64_t span = span_begin; span < span_end; ++span) {
            task.span_begin = span;
            task.span_end = span + 1;
            task.partial = partials++;
            scratch_.tasks.push_back(task);
          }
        }
      }
    }
  }
}

void Forward::attend(int layer) {
  pool_.run(static_cast<int64_t>(scratch_.tasks.size()), 1,
            [&](int64_t begin, int64_t end, int worker) {
              for (int64_t i = begin; i < end; ++i) {
                run_attention_task(layer, scratch_.tasks[static_cast<size_t>(i)], worker);
              }
            });
  const int value_dim = model_->config().value_dim;
  pool_.run(
      static_cast<int64_t>(scratch_.folds.size()), 1, [&](int64_t begin, int64_t end, int worker) {
        for (int64_t i = begin; i < end; ++i) {
          const FoldTask& fold = scratch_.folds[static_cast<size_t>(i)];
          const int64_t rows = int64_t{fold.rows.tokens} * fold.rows.heads;
          const auto state = state_at(scratch_.states + worker * scratch_.state_floats, rows);
          reset(state, rows, value_dim);
          for (int64_t p = 0; p < fold.partials; ++p) {
            float* part = scratch_.partials + (fold.first_partial + p) * scratch_.partial_floats;
            table_.attention_fold(state, state_at(part, rows), rows, value_dim);
          }
          finish_rows(fold.rows, state);
        }
      });
}

void Forward::run_attention_task(int layer, const AttentionTask& task, int worker) {
  const ModelConfig& c = model_->config();
  const LayerConfig& layer_config = c.layers[static_cast<size_t>(layer)];
  const Segment& segment = segments_[static_cast<size_t>(task.segment)];
  const int64_t rows = int64_t{task.tokens} * task.heads;

  const std::byte** k = scratch_.blocks + int64_t{worker} * 2 * scratch_.max_blocks;
  const std::byte** v = k + scratch_.max_blocks;
  const int64_t last = segment.first_position + task.token_begin + task.tokens - 1;
  const int64_t first_block = task.span_begin * (kernels::kKvSpan / kernels::kKvBlock);
  const int64_t end_block = std::min(task.span_end * (kernels::kKvSpan / kernels::kKvBlock),
                                     last / kernels::kKvBlock + 1);
  for (int64_t b = first_block; b < end_block; ++b) {
    const std::byte* bytes = blocks_.bytes((*segment.blocks)[static_cast<size_t>(b)]);
    k[b] = bytes + layout_.k_offset(layer, task.kv_head);
    v[b] = bytes + layout_.v_offset(layer, task.kv_head);
  }

  const int64_t token = segment_starts_[static_cast<size_t>(task.segment)] + task.token_begin;
  kernels::AttentionTile tile{};
  tile.type = kv_type_;
  tile.k = k;
  tile.v = v;
  tile.head_dim = c.head_dim;
  tile.value_dim = c.value_dim;
  tile.q = scratch_.q + (token * c.heads + task.first_head) * c.head_dim;
  tile.q_token_stride = int64_t{c.heads} * c.head_dim;
  tile.tokens = task.tokens;
  tile.group = task.heads;
  tile.first_position = segment.first_position + task.token_begin;
  tile.window = layer_config.window;
  tile.scale = c.attention_scale;
  tile.cap = c.attention_cap;
  tile.slopes = c.alibi_slopes.empty() ? nullptr : c.alibi_slopes.data() + task.first_head;
  float* base = task.partial >= 0 ? scratch_.partials + task.partial * scratch_.partial_floats
                                  : scratch_.states + worker * scratch_.state_floats;
  const kernels::AttentionState state = state_at(base, rows);
  reset(state, rows, c.value_dim);
  table_.attention_spans(tile, task.span_begin, task.span_end, state,
                         scratch_.attention + worker * scratch_.attention_bytes);
  if (task.partial < 0) finish_rows(task, state);
}

void Forward::finish_rows(const AttentionTask& task, kernels::AttentionState state) {
  const ModelConfig& c = model_->config();
  const int64_t values = int64_t{c.heads} * c.value_dim;
  const int64_t token = segment_starts_[static_cast<size_t>(task.segment)] + task.token_begin;
  float* out = scratch_.attended + token * values + int64_t{task.first_head} * c.value_dim;
  table_.attention_finish(state, task.tokens, task.heads, c.value_dim,
                          sinks_ == nullptr ? nullptr : sinks_ + task.first_head, out, values);
}

}  // namespace pawl::model
