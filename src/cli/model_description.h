// SPDX-License-Identifier: Apache-2.0
// What is in a GGUF file, for people and for programs.
#pragma once

#include <string>

#include "base/json.h"
#include "gguf/reader.h"

namespace pawl::cli {

// {path, version, bytes, architecture, parameters, types, tensors[{name, type, shape, bytes}],
// metadata{…}}. A metadata array of more than 64 elements is {"type", "count", "first": […]} unless
// `is_full`.
base::Json describe_as_json(const gguf::File& file, const std::string& path, bool is_full);

// The same as tables.
std::string describe_as_text(const gguf::File& file, const std::string& path, bool is_full);

}  // namespace pawl::cli
