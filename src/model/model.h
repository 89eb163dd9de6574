// SPDX-License-Identifier: Apache-2.0
// A model that is ready to compute: configuration and packed weights. Immutable and shared.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task_pool.h"
#include "gguf/reader.h"
#include "kernels/kernels.h"
#include "kv/layout.h"
#include "model/adapter.h"
#include "model/config.h"
#include "model/weights.h"

namespace pawl::model {

class Model {
 public:
  // Opens a file (all parts of a split one), checks and packs all weights on `pool`. Errors name
  // the file and, within it, the key or the tensor at fault.
  static base::Result<std::shared_ptr<const Model>> open(const std::string& path,
                                                         base::TaskPool& pool);

  // The same for a file that is open, with adapters added to its matrices (adapter.h).
  // split_output: the output matrix may have its codes in two places (largest.h).
  static base::Result<std::shared_ptr<const Model>> create(
      std::shared_ptr<const gguf::File> file, base::TaskPool& pool,
      std::span<const AdapterSource> adapters = {}, bool split_output = true);

  const std::shared_ptr<const gguf::File>& file() const { return file_; }
  const ModelConfig& config() const { return config_; }
  const Weights& weights() const { return weights_; }
  const std::vector<std::string>& unused_tensors() const { return unused_tensors_; }

  kv::Layout kv_layout(kernels::KvType type) const;

  // What keys and values are best kept as where `wanted` is asked for. 8-bit codes are for values
  // alone where keys have biases: a few entries of each are a hundred times as large as the others,
  // and codes that reach so far say little of these.
  kernels::KvType kv_type_for(kernels::KvType wanted) const;

  // Bytes of weights that one decode step has to read.
  int64_t step_weight_bytes() const;

 private:
  Model(std::shared_ptr<const gguf::File> file, ModelConfig config, Weights weights)
      : file_(std::move(file)), config_(std::move(config)), weights_(std::move(weights)) {}

  std::shared_ptr<const gguf::File> file_;
  ModelConfig config_;
  Weights weights_;
  std::vector<std::string> unused_tensors_;
};

}  // namespace pawl::model
