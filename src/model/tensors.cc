// SPDX-License-Identifier: Apache-2.0
#include "model/tensors.h"

#include <algorithm>

#include "kernels/dequantize.h"

namespace pawl::model {
namespace {

using base::ErrorCode;
using base::Result;

std::string shape_text(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  return text + "]";
}

}  // namespace

kernels::Format format_of(const gguf::TensorView& tensor) {
  return static_cast<kernels::Format>(static_cast<uint32_t>(tensor.type));
}

base::Error tensor_error(ErrorCode code, std::string_view name, const std::string& message) {
  return base::Error{code, "tensor '" + std::string(name) + "': " + message, ""};
}

Result<const gguf::TensorView*> Tensors::find(const std::string& name,
                                              std::initializer_list<int64_t> dims,
                                              bool is_required) {
  const gguf::TensorView* tensor = file_.find_tensor(name);
  if (tensor == nullptr) {
    if (!is_required) return tensor;
    return tensor_error(ErrorCode::kBadFile, name, "is missing");
  }
  const std::span<const int64_t> found(tensor->dims.data(), static_cast<size_t>(tensor->n_dims));
  const std::span<const int64_t> expected(dims.begin(), dims.size());
  if (!std::ranges::equal(found, expected)) {
    return tensor_error(ErrorCode::kBadFile, name,
                        "shape " + shape_text(found) + ", expected " + shape_text(expected));
  }
  if (kernels::format_info(format_of(*tensor)) == nullptr) {
    return tensor_error(
        ErrorCode::kUnsupported, name,
        "type " + std::string(gguf::tensor_type_info(tensor->type).name) + " has no kernel here");
  }
  used_.insert(tensor->name);
  return tensor;
}

Result<Vector> Tensors::vector(const std::string& name, int64_t size, bool is_required) {
  PAWL_TRY(const gguf::TensorView* tensor, find(name, {size}, is_required));
  if (tensor == nullptr) return Vector{};
  Vector values(static_cast<size_t>(size));
  kernels::dequantize_row(format_of(*tensor), tensor->data.data(), size, values.data());
  return values;
}

Result<Vector> Tensors::table(const std::string& name, int64_t cols, int64_t rows,
                              bool is_required) {
  PAWL_TRY(const gguf::TensorView* tensor, find(name, {cols, rows}, is_required));
  if (tensor == nullptr) return Vector{};
  Vector values(static_cast<size_t>(cols * rows));
  const int64_t row_bytes = kernels::raw_row_bytes(format_of(*tensor), cols);
  for (int64_t i = 0; i < rows; ++i) {
    kernels::dequantize_row(format_of(*tensor), tensor->data.data() + i * row_bytes, cols,
                            values.data() + i * cols);
  }
  return values;
}

std::vector<std::string> Tensors::unused() const {
  std::vector<std::string> names;
  for (const gguf::TensorView& tensor : file_.tensors()) {
    if (!used_.contains(tensor.name)) names.emplace_back(tensor.name);
  }
  return names;
}

}  // namespace pawl::model
