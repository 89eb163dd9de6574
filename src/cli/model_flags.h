// SPDX-License-Identifier: Apache-2.0
// How a model is opened, beyond which one it is: adapters, and what keys and values are kept as.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "kernels/kernels.h"
#include "model/adapter.h"

namespace pawl::cli {

struct ModelFlags {
  std::vector<std::string> adapters;  // FILE or FILE=SCALE
  std::string kv = "f16";

  void declare(CommandLine& line);
};

// The same, checked.
struct ModelOptions {
  std::vector<model::AdapterSource> adapters;
  kernels::KvType kv_type = kernels::KvType::kF16;
};

// Errors name the flag. `is_reference`: keys and values are f32 then, and --kv has no meaning.
base::Result<ModelOptions> read_model_flags(const ModelFlags& flags, bool is_reference);

}  // namespace pawl::cli
