// SPDX-License-Identifier: Apache-2.0
// The one layer loop. Sizes and properties come from ModelConfig; which tensors exist comes from
// Weights.
#include "model/forward.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "kernels/dequantize.h"

namespace pawl::model {

static_assert(kv::kBlockPositions == kernels::kKvBlock);

namespace {

// Rows of a segment whose way goes on behind the last layer's keys and values: trailing ones, but
// for the first position of a text, which counts as all of its chunk.
int64_t rows_kept(const Segment& segment) {
  const auto count = static_cast<int64_t>(segment.ids.size());
  if (segment.pooled == nullptr) return segment.wanted;
  switch (segment.pooling) {
    case Pooling::kMean:
      return count;
    case Pooling::kLast:
      return 1;
    case Pooling::kFirst:
      return segment.first_position == 0 ? count : 0;
  }
  return 0;
}

}  // namespace

base::Result<Forward> Forward::create(std::shared_ptr<const Model> model,
                                      const kernels::Table& table, base::TaskPool& pool,
                                      kv::BlockPool& blocks, Precision precision,
                                      const Limits& limits) {
  const int64_t learned = model->config().learned_positions;
  if (learned > 0 && limits.max_positions > learned) {
    return base::Error{base::ErrorCode::kInvalidArgument,
                       "a context of " + std::to_string(limits.max_positions) +
                           " positions: the model has learned " + std::to_string(learned),
                       ""};
  }
  PAWL_TRY(Scratch scratch, Scratch::create(model->config(), limits, pool.threads()));
  return Forward(std::move(model), table, pool, blocks, precision, limits, std::move(scratch));
}

Forward::Forward(std::shared_ptr<const Model> model, const kernels::Table& table,
                 base::TaskPool& pool, kv::BlockPool& blocks, Precision precision,
                 const Limits& limits, Scratch scratch)
    : model_(std::move(model)),
      table_(table),
      pool_(pool),
      blocks_(blocks),
      layout_(model_->kv_layout(kv_type_of(precision, limits.kv_type))),
      precision_(precision),
      kv_type_(kv_type_of(precision, limits.kv_type)),
      limits_(limits),
      scratch_(std::move(scratch)),
      search_(pool.threads()) {
  PAWL_CHECK(blocks_.block_bytes() >= layout_.block_bytes());
  for (const RopeConfig& rope : model_->config().ropes)
    ropes_.emplace_back(rope, std::span<const float>());
  const Weights& weights = model_->weights();
  if (!weights.rope_factors.empty()) {
    ropes_[0] = Rope(model_->config().ropes[0], weights.rope_factors);
  }
  if (!weights.rope_factors_long.empty()) {
    const RopeConfig& rope = model_->config().ropes[0];
    const bool is_long = static_cast<double>(limits.max_positions) > rope.original_context;
    ropes_[0] = Rope(rope, is_long ? weights.rope_factors_long : weights.rope_factors_short);
  }
  segments_.reserve(static_cast<size_t>(limits.max_tokens));
  segment_starts_.reserve(static_cast<size_t>(limits.max_tokens));
}

Logits Forward::run(const Batch& batch) {
  place_tokens(batch);
  begin_states();
  embed();
  const std::vector<LayerWeights>& layers = model_->weights().layers;
  const ModelConfig& config = model_->config();
  const bool is_parallel = config.is_parallel;
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerWeights& w = layers[i];
    const int layer = static_cast<int>(i);
    const float* input = read_input(w.attention_norm, w.attention_norm_bias);
    const bool is_attention = !has_state(config.layers[i].mixer);
    if (is_attention) {
      project_inputs(layer, input);
    } else {
      state_layer(layer, input);
    }
    if (i + 1 == layers.size()) {
      is_attention ? keep_wanted_rows(scratch_.q, int64_t{config.heads} * config.head_dim)
                   : keep_wanted_rows(scratch_.added, config.width);
    }
    if (tokens_ == 0) break;
    if (is_attention) attention_layer(layer, input);
    // What attention adds is not seen by a parallel feed-forward, which reads the same input unless
    // it has a norm of its own.
    const bool has_own_input = !is_parallel || !w.feed_forward_norm.empty();
    if (!is_parallel) add_to_residual(w.attention_post_norm);
    if (!config.architecture->has_feed_forward) continue;
    if (has_own_input) input = read_input(w.feed_forward_norm, w.feed_forward_norm_bias);
    if (is_parallel) add_to_residual(w.attention_post_norm);
    if (config.layers[i].has_experts) {
      expert_layer(w.experts, input);
    } else {
      feed_forward(w.feed_forward, config.feed_forward, false, input, tokens_, scratch_.added);
    }
    add_to_residual(w.feed_forward_post_norm);
  }
  return project();
}

void Forward::place_tokens(const Batch& batch) {
  segments_.assign(batch.segments.begin(), batch.segments.end());
  segment_starts_.clear();
  tokens_ = 0;
  int rows = 0;
  for (const Segment& segment : segments_) {
    rows += segment.wanted;
    PAWL_CHECK(segment.pooled == nullptr || segment.wanted == 0);
    const int64_t n = static_cast<int64_t>(segment.ids.size());
    PAWL_CHECK(n > 0 && tokens_ + n <= limits_.max_tokens);
    PAWL_CHECK(segment.first_position + n <= limits_.max_positions);
    segment_starts_.push_back(tokens_);
    for (int64_t i = 0; i < n; ++i) scratch_.positions[tokens_ + i] = segment.first_position + i;
    tokens_ += n;
  }
  PAWL_CHECK(rows <= limits_.max_rows);
  const int64_t pairs = model_->config().rope_pairs();
  pool_.run(tokens_, 16, [&](int64_t begin, int64_t end, int) {
    for (size_t r = 0; r < ropes_.size(); ++r) {
      for (int64_t t = begin; t < end; ++t) {
        const int64_t at = (static_cast<int64_t>(r) * limits_.max_tokens + t) * pairs;
        ropes_[r].angles(scratch_.positions[t], scratch_.cos + at, scratch_.sin + at);
      }
    }
  });
}

void Forward::embed() {
  const ModelConfig& config = model_->config();
  const Weights& weights = model_->weights();
  int64_t t = 0;
  for (const Segment& segment : segments_) {
    for (const base::TokenId id : segment.ids) {
      float* x = scratch_.x + t++ * config.width;
      if (weights.embedding != nullptr) {
        const auto format =
            static_cast<kernels::Format>(static_cast<uint32_t>(weights.embedding->type));
        const std::byte* row =
            weights.embedding->data.data() + id * kernels::raw_row_bytes(format, config.width);
        kernels::dequantize_row(format, row, config.width, x);
      } else {
        const Matrix& m = weights.output;
        const std::byte* block = m.packed + id / kernels::kRowsPerBlock * m.block_bytes;
        const std::byte* fine = m.fine + id / kernels::kRowsPerBlock * m.fine_bytes;
        kernels::unpack_row(m.format, block, id % kernels::kRowsPerBlock, m.cols, x, fine);
      }
      if (config.embedding_scale != 1.0f) table_.scale(x, config.embedding_scale, config.width);
    }
  }
  for (t = 0; t < tokens_ && !weights.positions.empty(); ++t) {
    table_.add(scratch_.x + t * config.width,
               weights.positions.data() + scratch_.positions[t] * config.width, config.width);
  }
  if (!weights.embedding_norm.empty()) {
    norm_rows(scratch_.x, weights.embedding_norm, weights.embedding_norm_bias, scratch_.x, tokens_);
  }
}

void Forward::norm(const float* x, const float* weight, const float* bias, int64_t n,
                   float* out) const {
  const ModelConfig& config = model_->config();
  if (config.architecture->norm == Norm::kRms) {
    table_.rms_norm(x, weight, config.norm_epsilon, n, out);
  } else {
    table_.layer_norm(x, weight, bias, config.norm_epsilon, n, out);
  }
}

void Forward::norm_rows(const float* x, const Vector& weight, const Vector& bias, float* out,
                        int64_t rows) {
  const int64_t width = model_->config().width;
  const auto data = [](const Vector& v) { return v.empty() ? nullptr : v.data(); };
  pool_.run(rows, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t)
      norm(x + t * width, data(weight), data(bias), width, out + t * width);
  });
}

// What attention or feed-forward reads: the residual stream, normed as the architecture has it.
const float* Forward::read_input(const Vector& norm_weight, const Vector& norm_bias) {
  if (model_->config().architecture->pre_norm == PreNorm::kNone) return scratch_.x;
  norm_rows(scratch_.x, norm_weight, norm_bias, scratch_.normed, tokens_);
  return scratch_.normed;
}

void Forward::add_to_residual(const Vector& post_norm) {
  const ModelConfig& config = model_->config();
  pool_.run(tokens_, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      float* added = scratch_.added + t * config.width;
      if (!post_norm.empty()) norm(added, post_norm.data(), nullptr, config.width, added);
      float* x = scratch_.x + t * config.width;
      if (config.residual_scale == 1.0f) {
        table_.add(x, added, config.width);
      } else {
        table_.add_scaled(x, added, config.residual_scale, config.width);
      }
    }
  });
}

// Once the last layer's keys and values are stored, only rows whose logits are wanted go on: theirs
// are moved together, in order. So are those of `made`, of `cols` numbers, which the layer has made
// until then.
void Forward::keep_wanted_rows(float* made, int64_t cols) {
  const ModelConfig& config = model_->config();
  int64_t kept = 0;
  size_t segments = 0;
  for (size_t s = 0; s < segments_.size(); ++s) {
    Segment segment = segments_[s];
    const int64_t count = static_cast<int64_t>(segment.ids.size()), rows = rows_kept(segment),
                  skipped = count - rows;
    if (rows == 0) continue;
    const int64_t from = segment_starts_[s] + skipped;
    if (from != kept) {
      std::copy_n(scratch_.x + from * config.width, rows * config.width,
                  scratch_.x + kept * config.width);
      std::copy_n(made + from * cols, rows * cols, made + kept * cols);
      // Of use only where the feed-forward reads what attention read.
      std::copy_n(scratch_.normed + from * config.width, rows * config.width,
                  scratch_.normed + kept * config.width);
    }
    segment.first_position += skipped;
    segment.ids = segment.ids.subspan(static_cast<size_t>(skipped));
    segments_[segments] = segment;
    segment_starts_[segments++] = kept;
    kept += rows;
  }
  segments_.resize(segments);
  segment_starts_.resize(segments);
  tokens_ = kept;
}

// Takes the rows of pooled segments out of the final hidden states; the others move together.
void Forward::pool_hidden_states() {
  const int64_t width = model_->config().width;
  int64_t kept = 0;
  for (size_t s = 0; s < segments_.size(); ++s) {
    const Segment& segment = segments_[s];
    const auto count = static_cast<int64_t>(segment.ids.size());
    const float* rows = scratch_.normed + segment_starts_[s] * width;
    if (segment.pooled == nullptr) {
      if (segment_starts_[s] != kept) {
        std::copy_n(rows, count * width, scratch_.normed + kept * width);
      }
      kept += count;
    } else if (segment.pooling == Pooling::kMean) {
      for (int64_t t = 0; t < count; ++t) table_.add(segment.pooled, rows + t * width, width);
    } else {
      std::copy_n(rows, width, segment.pooled);
    }
  }
  tokens_ = kept;
}

}  // namespace pawl::model
