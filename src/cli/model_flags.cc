// SPDX-License-Identifier: Apache-2.0
#include "cli/model_flags.h"

#include <fmt/format.h>

namespace pawl::cli {

using base::Error;
using base::ErrorCode;

void ModelFlags::declare(CommandLine& line) {
  line.group("Model");
  line.texts({"--lora", "FILE[=SCALE]", "adds a LoRA adapter in GGUF, times SCALE; repeatable"},
             adapters);
  line.text({"--kv", "TYPE",
             "what keys and values are kept as: f16, or q8_0 for about half the memory "
             "(docs/models.md tells what it costs)"},
            kv);
}

base::Result<ModelOptions> read_model_flags(const ModelFlags& flags, bool is_reference) {
  ModelOptions options;
  for (const std::string& text : flags.adapters) {
    auto source = model::parse_adapter_source(text);
    if (!source.ok())
      return Error{ErrorCode::kInvalidArgument, "--lora: " + source.error().message, text};
    options.adapters.push_back(std::move(*source));
  }
  if (flags.kv == "q8_0") {
    options.kv_type = kernels::KvType::kQ8_0;
  } else if (flags.kv != "f16") {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' is neither f16 nor q8_0", flags.kv.substr(0, 40)), "--kv"};
  }
  if (is_reference && options.kv_type != kernels::KvType::kF16) {
    return Error{ErrorCode::kInvalidArgument,
                 "--reference keeps keys and values in 32 bits: --kv has no part in it", "--kv"};
  }
  return options;
}

}  // namespace pawl::cli
