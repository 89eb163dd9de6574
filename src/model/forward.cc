// SPDX-License-Identifier: Apache-2.0
// The one layer loop. Sizes and properties come from ModelConfig; which tensors exist comes from
// Weights.
#include "model/forward.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/dequantize.h"

namespace pawl::model {

static_assert(kv::kBlockPositions == kernels::kKvBlock);

base::Result<Forward> Forward::create(std::shared_ptr<const Model> model,
                                      const kernels::Table& table, base::TaskPool& pool,
                                      kv::BlockPool& blocks, Precision precision,
                                      const Limits& limits) {
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
      layout_(model_->kv_layout(precision == Precision::kReference)),
      precision_(precision),
      limits_(limits),
      scratch_(std::move(scratch)) {
  PAWL_CHECK(blocks_.block_bytes() >= layout_.block_bytes());
  for (const RopeConfig& rope : model_->config().ropes)
    ropes_.emplace_back(rope, std::span<const float>());
  if (!model_->weights().rope_factors.empty()) {
    ropes_[0] = Rope(model_->config().ropes[0], model_->weights().rope_factors);
  }
  segments_.reserve(static_cast<size_t>(limits.max_tokens));
  segment_starts_.reserve(static_cast<size_t>(limits.max_tokens));
}

Logits Forward::run(const Batch& batch) {
  place_tokens(batch);
  embed();
  const std::vector<LayerWeights>& layers = model_->weights().layers;
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerWeights& w = layers[i];
    const int layer = static_cast<int>(i);
    norm_rows(scratch_.x, w.attention_norm, scratch_.normed, tokens_);
    project_inputs(layer);
    if (i + 1 == layers.size()) keep_wanted_rows();
    if (tokens_ == 0) break;
    attention_layer(layer);
    add_to_residual(w.attention_post_norm);
    norm_rows(scratch_.x, w.feed_forward_norm, scratch_.normed, tokens_);
    feed_forward_layer(layer);
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
    const int64_t n = static_cast<int64_t>(segment.ids.size());
    PAWL_CHECK(n > 0 && tokens_ + n <= limits_.max_tokens);
    PAWL_CHECK(segment.first_position + n <= limits_.max_positions);
    segment_starts_.push_back(tokens_);
    for (int64_t i = 0; i < n; ++i) scratch_.positions[tokens_ + i] = segment.first_position + i;
    tokens_ += n;
  }
  PAWL_CHECK(rows <= limits_.max_rows);
  const int64_t pairs = ropes_[0].pairs();
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
        kernels::unpack_row(m.format, block, id % kernels::kRowsPerBlock, m.cols, x);
      }
      if (config.embedding_scale != 1.0f) table_.scale(x, config.embedding_scale, config.width);
    }
  }
}

void Forward::norm_rows(const float* x, const Vector& weight, float* out, int64_t rows) {
  const ModelConfig& config = model_->config();
  pool_.run(rows, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      table_.rms_norm(x + t * config.width, weight.data(), config.norm_epsilon, config.width,
                      out + t * config.width);
    }
  });
}

void Forward::add_to_residual(const Vector& post_norm) {
  const ModelConfig& config = model_->config();
  pool_.run(tokens_, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      float* added = scratch_.added + t * config.width;
      if (!post_norm.empty())
        table_.rms_norm(added, post_norm.data(), config.norm_epsilon, config.width, added);
      table_.add(scratch_.x + t * config.width, added, config.width);
    }
  });
}

// Once the last layer's keys and values are stored, only rows whose logits are wanted go on: theirs
// are moved together, in order.
void Forward::keep_wanted_rows() {
  const ModelConfig& config = model_->config();
  const int64_t queries = int64_t{config.heads} * config.head_dim;
  int64_t kept = 0;
  size_t segments = 0;
  for (size_t s = 0; s < segments_.size(); ++s) {
    const Segment segment = segments_[s];
    const int64_t count = static_cast<int64_t>(segment.ids.size()),
                  skipped = count - segment.wanted;
    if (segment.wanted == 0) continue;
    const int64_t from = segment_starts_[s] + skipped;
    if (from != kept) {
      std::copy_n(scratch_.x + from * config.width, segment.wanted * config.width,
                  scratch_.x + kept * config.width);
      std::copy_n(scratch_.q + from * queries, segment.wanted * queries,
                  scratch_.q + kept * queries);
    }
    segments_[segments] = {segment.first_position + skipped,
                           segment.ids.subspan(static_cast<size_t>(skipped)), segment.wanted,
                           segment.blocks};
    segment_starts_[segments++] = kept;
    kept += segment.wanted;
  }
  segments_.resize(segments);
  segment_starts_.resize(segments);
  tokens_ = kept;
}

Logits Forward::project() {
  const ModelConfig& config = model_->config();
  const int rows = static_cast<int>(tokens_);
  if (rows == 0) return Logits{nullptr, 0, config.vocabulary};
  norm_rows(scratch_.x, model_->weights().output_norm, scratch_.rows, rows);
  const Product product{&model_->weights().output, scratch_.logits, nullptr};
  multiply(scratch_.rows, rows, {&product, 1});
  if (config.logit_cap > 0) {
    pool_.run(int64_t{rows} * config.vocabulary, 4096, [&](int64_t begin, int64_t end, int) {
      table_.soft_cap(scratch_.logits + begin, config.logit_cap, end - begin);
    });
  }
  return Logits{scratch_.logits, rows, config.vocabulary};
}

}  // namespace pawl::model
