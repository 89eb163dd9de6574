// SPDX-License-Identifier: Apache-2.0
// What one forward pass computes: pieces of sequences, side by side. A prompt chunk is a long
// segment, decode a segment of one, a verified draft a segment of k + 1: the model knows no prefill
// mode.
#pragma once

#include <cstdint>
#include <span>

#include "base/token.h"
#include "kv/block_pool.h"
#include "model/pooling.h"

namespace pawl::model {

struct Segment {
  int64_t first_position = 0;          // of ids[0]; all positions before it are in the cache
  std::span<const base::TokenId> ids;  // at least one
  int wanted = 0;                      // logits of this many trailing positions, 0 … ids.size()
  const kv::BlockTable* blocks =
      nullptr;  // blocks for every position up to and with the last of ids
  // What layers with a state keep of this sequence, ModelConfig::state_floats: as the positions
  // before first_position left it (before position 0: anything); the pass takes it to behind the
  // last of ids. Null where the model has no such layers.
  float* state = nullptr;
  // One vector for the whole text [width]: the pass adds (kMean), or sets from (kLast, kFirst) the
  // final hidden states of these ids; zeros before position 0, finish_pooling() behind the last.
  // Null: none is wanted. REQUIRES: with it wanted is 0
  float* pooled = nullptr;
  Pooling pooling = Pooling::kMean;
  // Of the row only the largest logit matters, among the ids that are not excluded: where this
  // holds for all rows of a batch and the largest can be had for less, the pass gives no rows.
  // REQUIRES: with it wanted is 1
  bool only_largest = false;
  std::span<const base::TokenId> excluded = {};
};

struct Batch {
  std::span<const Segment> segments;
};

// The largest logit of a row; of equals the one with the lowest id.
struct Largest {
  base::TokenId id = 0;
  float logit = 0;
};

// f32 [rows, vocabulary]: natural-log scale, not normalised. Rows in the order of the segments,
// within a segment in the order of positions. Valid until the next forward. Where only the largest
// were asked for and found without the rows, data is null and a row is empty.
struct Logits {
  const float* data = nullptr;
  int rows = 0;
  int vocabulary = 0;
  std::span<const Largest> largest = {};  // [rows], or empty

  std::span<const float> row(int i) const {
    if (data == nullptr) return {};
    return {data + static_cast<int64_t>(i) * vocabulary, static_cast<size_t>(vocabulary)};
  }
};

}  // namespace pawl::model
