// SPDX-License-Identifier: Apache-2.0
// A file's tensors by name, each checked before it is used: shape and type. What was never asked
// for is reported.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/reader.h"
#include "kernels/formats.h"

namespace pawl::model {

using Vector = std::vector<float>;  // empty: absent

kernels::Format format_of(const gguf::TensorView& tensor);
base::Error tensor_error(base::ErrorCode code, std::string_view name, const std::string& message);

class Tensors {
 public:
  explicit Tensors(const gguf::File& file) : file_(file) {}

  const gguf::TensorView* look_up(const std::string& name) const { return file_.find_tensor(name); }
  bool has(const std::string& name) const { return look_up(name) != nullptr; }

  // Null where it is absent and need not be there. Errors name the tensor that is missing,
  // misshapen or of a type without kernels. dims: as in the file, columns first.
  base::Result<const gguf::TensorView*> find(const std::string& name,
                                             std::initializer_list<int64_t> dims, bool is_required);

  // The values as floats; empty where it is absent and need not be there.
  base::Result<Vector> vector(const std::string& name, int64_t size, bool is_required);
  base::Result<Vector> table(const std::string& name, int64_t cols, int64_t rows, bool is_required);

  // Names of tensors that were never found, in the file's order.
  std::vector<std::string> unused() const;

 private:
  const gguf::File& file_;
  std::set<std::string_view> used_;
};

}  // namespace pawl::model
