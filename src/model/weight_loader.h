// SPDX-License-Identifier: Apache-2.0
// Finds and checks the tensors of a file, one layer after the other. weights.cc holds what most
// architectures have, feed_forward_weights.cc feed-forwards and experts, mixer_weights.cc what
// latent attention and layers with a state need.
#pragma once

#include <string>
#include <vector>

#include "model/weights.h"

namespace pawl::model {

class WeightLoader {
 public:
  // Sizes that tensors are made of.
  enum class Size { kWidth, kQueries, kKeys, kValues, kHeads };

  // file, config: outlive the loader.
  WeightLoader(const gguf::File& file, ModelConfig& config, bool split_output)
      : row_(*config.architecture), config_(config), split_output_(split_output), tensors_(file) {}

  base::Result<Weights> load(const gguf::File& file, base::TaskPool& pool,
                             const AdapterFiles& adapters, std::vector<std::string>& unused);

 private:
  int64_t size_of(Size size) const;
  base::Result<Vector> vector(const std::string& name, int64_t size, Presence presence);
  base::Result<void> matrix(const std::string& name, int64_t rows, int64_t cols, Matrix& target);

  base::Result<void> add_adapters(const AdapterFiles& adapters);

  // What all layers share.
  base::Result<void> find_shared();
  base::Result<void> find_shared_norms();
  base::Result<void> find_rope_factors();

  // One layer.
  base::Result<void> find_layer(LayerWeights& weights);
  base::Result<void> find_mixer(LayerWeights& weights);
  base::Result<void> find_attention(LayerWeights& weights);
  base::Result<void> find_inputs(LayerWeights& weights);
  base::Result<void> find_gated_queries(LayerWeights& weights);
  base::Result<void> find_qk_norms(LayerWeights& weights);

  // feed_forward_weights.cc
  base::Result<void> find_feed_forward_norm(LayerWeights& weights);
  base::Result<void> find_feed_forward(int64_t hidden, const std::string& suffix, Presence bias,
                                       FeedForward& weights);
  base::Result<void> find_experts(Experts& experts);
  base::Result<void> find_expert_matrices(const std::string& name, int64_t rows, int64_t cols,
                                          Matrix FeedForward::*target, Vector FeedForward::*bias,
                                          Experts& experts);

  // mixer_weights.cc
  struct RowRange {
    Matrix* target;
    int64_t rows;
  };
  // One tensor whose rows are several matrices, in this order.
  base::Result<void> rows_of(const std::string& name, int64_t cols,
                             std::initializer_list<RowRange> parts);
  // A matrix for each head, in one tensor.
  base::Result<void> per_head(const std::string& name, int64_t rows, int64_t cols,
                              std::vector<Matrix>& targets);
  base::Result<void> find_latent_attention(LayerWeights& weights);
  // A table of the file's, [channels, taps], as [taps, channels].
  base::Result<Vector> across(const std::string& name, int64_t cols, int64_t rows);
  base::Result<void> find_short_convolution(StateWeights& weights);
  base::Result<void> find_mamba(StateWeights& weights);
  base::Result<void> find_mamba2(StateWeights& weights);
  base::Result<void> find_delta_net(StateWeights& weights);

  const Architecture& row_;
  ModelConfig& config_;
  bool split_output_;
  Tensors tensors_;
  Weights weights_;
  std::vector<PendingMatrix> pending_;
  const LayerConfig* layer_ = nullptr;  // the one at hand
  std::string prefix_;                  // "blk.N."
};

}  // namespace pawl::model
