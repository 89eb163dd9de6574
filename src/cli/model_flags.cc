// SPDX-License-Identifier: Apache-2.0
#include "cli/model_flags.h"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::cli {

using base::Error;
using base::ErrorCode;

void ModelFlags::declare(CommandLine& line) {
  line.group("Model");
  line.texts({"--lora", "FILE[=SCALE]", "adds a LoRA adapter in GGUF, times SCALE; repeatable"},
             adapters);
  line.text({"--kv", "TYPE",
             "what keys and values are kept as: f16, q8_0 for about half the memory, or f16+q8_0 "
             "for keys in f16 and values in q8_0, which q8_0 means where keys have biases "
             "(docs/models.md tells what each costs)"},
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
  constexpr kernels::KvType kTypes[] = {kernels::KvType::kF16, kernels::KvType::kQ8_0,
                                        kernels::KvType::kF16Q8_0};
  const auto* type = std::ranges::find(kTypes, flags.kv, kernels::kv_type_name);
  if (type == std::end(kTypes)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' is none of f16, q8_0 and f16+q8_0", flags.kv.substr(0, 40)),
                 "--kv"};
  }
  options.kv_type = *type;
  if (is_reference && options.kv_type != kernels::KvType::kF16) {
    return Error{ErrorCode::kInvalidArgument,
                 "--reference keeps keys and values in 32 bits: --kv has no part in it", "--kv"};
  }
  return options;
}

}  // namespace pawl::cli
