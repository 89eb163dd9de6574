// SPDX-License-Identifier: Apache-2.0
// A model file in another tensor type: which of its tensors change, and the new file written beside
// the old one. Nothing is held in memory but a piece of a tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/task_pool.h"
#include "gguf/reader.h"
#include "gguf/types.h"

namespace pawl::model {

// What a file is called that is made so.
struct QuantizeType {
  std::string_view name;      // "q4_k"
  gguf::TensorType type;      // of matrices
  gguf::TensorType output;    // of the matrix that gives the logits, unless is_pure
  bool gives_some_more_bits;  // attn_v and ffn_down of some layers are Q6_K, as in the "_M" mixes
  uint32_t file_type;         // the key general.file_type
};

// q8_0, q6_k, q5_k, q5_k_m, q4_k, q4_k_m, q4_0.
std::span<const QuantizeType> quantize_types();
const QuantizeType* find_quantize_type(std::string_view name);  // null where there is none

struct TensorPlan {
  const gguf::TensorView* tensor;
  gguf::TensorType type;    // that it will have
  std::string_view reason;  // why it is not the type asked for; empty where it is
};

// In the file's order. Vectors, norms, routers, positions and short convolutions stay as they are,
// and so does what is quantised already. A row that is no multiple of 256 is Q8_0 in place of a
// K type. `is_pure`: every matrix is of the one type. Error kInvalidArgument where no tensor would
// change.
base::Result<std::vector<TensorPlan>> plan_quantization(const gguf::File& file,
                                                        const QuantizeType& type, bool is_pure);

// Bytes of the tensors as the plan has them.
int64_t planned_bytes(std::span<const TensorPlan> plan);

struct WriteOptions {
  std::function<void(int64_t done, int64_t total)> progress;  // bytes written; may be empty
  std::stop_token stop;
};

// Writes the file; it is at `path` whole or not at all. Errors: kInvalidArgument naming the tensor
// and row of a number that is none or beyond what 16-bit scales hold, kIo, kCancelled.
base::Result<void> write_quantized(const gguf::File& file, std::span<const TensorPlan> plan,
                                   const QuantizeType& type, const std::string& path,
                                   base::TaskPool& pool, const WriteOptions& options);

}  // namespace pawl::model
