// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime.h"

#include <cstdlib>

namespace pawl::engine {

base::Result<std::unique_ptr<Runtime>> Runtime::open(const std::string& path,
                                                     const RuntimeOptions& options) {
  PAWL_TRY(std::shared_ptr<const gguf::File> file, gguf::open(path));
  auto runtime = create(std::move(file), options);
  if (!runtime.ok() && runtime.error().where.empty()) runtime.error().where = path;
  return runtime;
}

base::Result<std::unique_ptr<Runtime>> Runtime::create(std::shared_ptr<const gguf::File> file,
                                                       const RuntimeOptions& options) {
  const char* forced = std::getenv("PAWL_ISA");
  const std::string_view isa =
      options.isa.empty() && forced != nullptr ? std::string_view(forced) : options.isa;

  std::unique_ptr<Runtime> runtime(new Runtime());
  PAWL_TRY(runtime->table_, kernels::choose_table(isa));
  runtime->pool_ = std::make_unique<base::TaskPool>(
      options.threads > 0 ? options.threads : base::TaskPool::available_cpus());
  PAWL_TRY(runtime->model_, model::Model::create(file, *runtime->pool_, options.adapters,
                                                 runtime->table_->splits_well));
  PAWL_TRY(runtime->tokenizer_, text::Tokenizer::create(std::move(file), options.pretokenizer));
  // What is needed again (a text of the vocabulary, a row of the embedding) is read again.
  runtime->model_->file()->release_all();
  runtime->precision_ = options.precision;
  const kernels::KvType wanted = model::kv_type_of(options.precision, options.kv_type);
  runtime->kv_type_ = runtime->model_->kv_type_for(wanted);
  runtime->keeps_keys_whole_ = runtime->kv_type_ != wanted;
  const size_t rows = static_cast<size_t>(runtime->model_->config().vocabulary);
  if (runtime->tokenizer_->vocab().size() != rows) {
    return base::Error{
        base::ErrorCode::kBadFile,
        "key 'tokenizer.ggml.tokens': " + std::to_string(runtime->tokenizer_->vocab().size()) +
            " entries, but tensor 'token_embd.weight' has " + std::to_string(rows) + " rows",
        ""};
  }
  return runtime;
}

std::vector<std::string> Runtime::warnings() const {
  std::vector<std::string> warnings(tokenizer_->warnings().begin(), tokenizer_->warnings().end());
  if (keeps_keys_whole_) {
    warnings.push_back(
        "keys of this model have biases, which 8-bit codes do not hold well: they stay in f16, "
        "values are q8_0");
  }
  const std::vector<std::string>& unused = model_->unused_tensors();
  if (!unused.empty()) {
    std::string names;
    for (size_t i = 0; i < unused.size() && i < 8; ++i) names += (i == 0 ? "" : ", ") + unused[i];
    if (unused.size() > 8) names += " and " + std::to_string(unused.size() - 8) + " more";
    warnings.push_back("tensors that this architecture does not use: " + names);
  }
  return warnings;
}

}  // namespace pawl::engine
