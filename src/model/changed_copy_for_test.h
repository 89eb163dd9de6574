// SPDX-License-Identifier: Apache-2.0
// For tests: a copy of a model file, changed on the way.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "gguf/reader.h"
#include "gguf/writer.h"

namespace pawl::model {

// Each may write something else in place of a key or tensor, and then gives true.
struct Changes {
  std::function<bool(std::string_view key, gguf::Writer&)> replace_key = [](auto, auto&) {
    return false;
  };
  std::function<bool(const gguf::TensorView&, gguf::Writer&)> replace_tensor = [](auto&, auto&) {
    return false;
  };
  std::function<void(gguf::Writer&)> add_more = [](auto&) {};
};

inline std::vector<std::byte> changed_copy(const gguf::File& file, const Changes& changes) {
  gguf::Writer writer;
  for (const auto& [key, value] : file.metadata().entries()) {
    if (changes.replace_key(key, writer)) continue;
    writer.add(key, value);
  }
  for (const gguf::TensorView& t : file.tensors()) {
    if (changes.replace_tensor(t, writer)) continue;
    writer.add_tensor(t.name, t.type, {t.dims.begin(), t.dims.begin() + t.n_dims}, t.data);
  }
  changes.add_more(writer);
  return writer.bytes();
}

}  // namespace pawl::model
