// SPDX-License-Identifier: Apache-2.0
// Everything that is opened once for a model file: weights, tokenizer, compute threads and the
// kernel variant.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/task_pool.h"
#include "gguf/reader.h"
#include "kernels/kernels.h"
#include "model/forward.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace pawl::engine {

struct RuntimeOptions {
  int threads = 0;            // 0: the CPUs this process may use
  std::string_view isa = {};  // a kernel variant by name; empty: $PAWL_ISA, else the best
  model::Precision precision = model::Precision::kFast;
  std::string_view pretokenizer = {};  // by name; empty: the one the file names
  // Of keys and values, as Model::kv_type_for has it; the reference has f32.
  kernels::KvType kv_type = kernels::KvType::kF16;
  std::span<const model::AdapterSource> adapters = {};
};

// Threads: immutable but for the pool, which one step at a time may use.
class Runtime {
 public:
  // Errors name the file and, within it, the key or tensor at fault.
  static base::Result<std::unique_ptr<Runtime>> open(const std::string& path,
                                                     const RuntimeOptions& options);

  // The same for a file that is open.
  static base::Result<std::unique_ptr<Runtime>> create(std::shared_ptr<const gguf::File> file,
                                                       const RuntimeOptions& options);

  const std::shared_ptr<const model::Model>& model() const { return model_; }
  const text::Tokenizer& tokenizer() const { return *tokenizer_; }
  // One more token after which a generation is over, as a chat template shows it. REQUIRES: known
  // to the vocabulary; before any engine runs
  void add_end(base::TokenId id) { tokenizer_->add_end(id); }
  const kernels::Table& kernels() const { return *table_; }
  base::TaskPool& pool() { return *pool_; }
  model::Precision precision() const { return precision_; }
  kernels::KvType kv_type() const { return kv_type_; }
  int64_t kv_block_bytes() const { return model_->kv_layout(kv_type_).block_bytes(); }

  // Things about the model and how it is run that a user should hear of, one line each; usually
  // none.
  std::vector<std::string> warnings() const;

 private:
  Runtime() = default;

  std::unique_ptr<base::TaskPool> pool_;
  const kernels::Table* table_ = nullptr;
  std::shared_ptr<const model::Model> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  model::Precision precision_ = model::Precision::kFast;
  kernels::KvType kv_type_ = kernels::KvType::kF16;
  bool keeps_keys_whole_ = false;  // though codes were asked for
};

}  // namespace pawl::engine
