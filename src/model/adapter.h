// SPDX-License-Identifier: Apache-2.0
// LoRA adapters (arXiv 2106.09685) in GGUF files: for a matrix W of the model two small ones, so
// that the product with x becomes W·x + scale * up · (down · x). The weights themselves stay as
// they are, quantised or not.
//
//   general.type "adapter" | general.architecture as the model's | adapter.type "lora" |
//   adapter.lora.alpha f32 NAME.lora_a [columns, rank], NAME.lora_b [rank, rows] for a tensor NAME
//   of the model; experts are a third dimension. scale = what is asked for * alpha / rank, or
//   without an alpha what is asked for.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/reader.h"

namespace pawl::model {

struct AdapterSource {
  std::string path;
  float scale = 1;
};

// The two matrices of one tensor in one file.
struct AdapterPair {
  std::string_view name;         // of the model's tensor
  const gguf::TensorView* down;  // [columns, rank]
  const gguf::TensorView* up;    // [rank, rows]
  float scale;                   // alpha and rank included
};

class AdapterFiles {
 public:
  // Opens and checks them against the model's file, which outlives this. Errors name the file and
  // the key or tensor: a file that is no such adapter or of another architecture, half a pair, a
  // tensor that the model lacks, another shape, a tensor whose products take no adapter
  // (embeddings, the per-head matrices of latent attention).
  static base::Result<AdapterFiles> open(std::span<const AdapterSource> sources,
                                         const gguf::File& model);

  // In the order of the files.
  std::span<const AdapterPair> pairs() const { return pairs_; }

 private:
  std::vector<std::shared_ptr<const gguf::File>> files_;
  std::vector<AdapterPair> pairs_;
};

// "FILE" or "FILE=SCALE". Error kInvalidArgument for a scale that is no finite number.
base::Result<AdapterSource> parse_adapter_source(std::string_view text);

}  // namespace pawl::model
