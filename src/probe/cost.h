// SPDX-License-Identifier: Apache-2.0
// What a forward pass has to read and to compute, counted from the model's sizes. Divided by the
// time of the pass and set beside what the machine can do, this says how far from the limit it is.
#pragma once

#include <cstdint>

#include "model/config.h"
#include "model/model.h"

namespace pawl::probe {

// Sequences of one length, side by side.
struct Pass {
  int64_t sequences = 1;
  int64_t tokens = 1;          // of each sequence
  int64_t first_position = 0;  // of these tokens
  int64_t rows = 1;            // of logits, of all sequences together
  bool is_greedy = false;      // of each row only the largest logit
};

// How a greedy pass found its tokens.
struct GreedyWork {
  bool has_rows = false;   // the whole rows were computed
  bool fell_back = false;  // after looking for a shorter way
  int64_t exact_rows = 0;  // else: rows of the vocabulary that were computed in full, for all
};

// Bytes of weights as the kernels read them.
struct WeightBytes {
  int64_t layers = 0;
  int64_t output = 0;  // the projection onto the vocabulary, read where logits are asked for
  int64_t coarse = 0;  // what of it is read at least where only the largest is
  double output_row = 0;
};
WeightBytes weight_bytes(const model::Model& model);

struct Cost {
  int64_t bytes = 0;       // weights once, and the keys and values each sequence attends to once
  int64_t operations = 0;  // 2 per multiply-add of the matrices and of attention

  Cost& operator+=(const Cost& other) {
    bytes += other.bytes;
    operations += other.operations;
    return *this;
  }
  Cost& operator-=(const Cost& other) {
    bytes -= other.bytes;
    operations -= other.operations;
    return *this;
  }
};

// Embedding rows, norms and activations are left out: they are less than a hundredth; and so are
// adapters.
Cost pass_cost(const model::ModelConfig& config, const WeightBytes& weights, kernels::KvType kv,
               const Pass& pass);

// What a greedy pass saved of it.
Cost saved(const model::ModelConfig& config, const WeightBytes& weights, const Pass& pass,
           const GreedyWork& work);

}  // namespace pawl::probe
