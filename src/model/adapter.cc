// SPDX-License-Identifier: Apache-2.0
#include "model/adapter.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "base/utf8.h"
#include "kernels/formats.h"
#include "model/tensors.h"

namespace pawl::model {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::string_view kDown = ".lora_a", kUp = ".lora_b";
// Read row by row, or multiplied by a kernel of its own.
constexpr std::string_view kWithout[] = {"token_embd.weight", "position_embd.weight",
                                         ".attn_k_b.weight", ".attn_v_b.weight"};

Result<void> expect(const gguf::Metadata& metadata, std::string_view key, std::string_view wanted) {
  const auto value = metadata.get_string(key);
  if (!value.ok()) return Error{ErrorCode::kBadFile, value.error().message, ""};
  const std::string_view found = *value;
  if (found == wanted) return {};
  return Error{ErrorCode::kBadFile,
               "key '" + std::string(key) + "': " + base::quoted_text(found) + ", expected '" +
                   std::string(wanted) + "'",
               ""};
}

Result<void> check_shape(const gguf::TensorView& tensor, const std::array<int64_t, 4>& expected) {
  if (tensor.dims == expected) {
    if (kernels::format_info(format_of(tensor)) != nullptr) return {};
    return tensor_error(
        ErrorCode::kUnsupported, tensor.name,
        "type " + std::string(gguf::tensor_type_info(tensor.type).name) + " has no kernel here");
  }
  const auto text = [](const std::array<int64_t, 4>& dims) {
    return "[" + std::to_string(dims[0]) + ", " + std::to_string(dims[1]) +
           (dims[2] > 1 ? ", " + std::to_string(dims[2]) : "") + "]";
  };
  return tensor_error(ErrorCode::kBadFile, tensor.name,
                      "shape " + text(tensor.dims) + ", expected " + text(expected));
}

Result<AdapterPair> make_pair(const gguf::File& adapter, const gguf::TensorView& down,
                              const gguf::File& model, float alpha, float scale) {
  const std::string name(down.name.substr(0, down.name.size() - kDown.size()));
  const gguf::TensorView* up = adapter.find_tensor(name + std::string(kUp));
  if (up == nullptr)
    return tensor_error(ErrorCode::kBadFile, name + std::string(kUp), "is missing");
  const gguf::TensorView* target = model.find_tensor(name);
  if (target == nullptr) {
    return tensor_error(ErrorCode::kBadFile, down.name, "the model has no tensor '" + name + "'");
  }
  for (const std::string_view without : kWithout) {
    if (!name.ends_with(without)) continue;
    return tensor_error(ErrorCode::kUnsupported, down.name,
                        "adapters of this matrix are not supported");
  }
  const int64_t rank = down.dims[1];
  PAWL_TRY_VOID(check_shape(down, {target->dims[0], rank, target->dims[2], 1}));
  PAWL_TRY_VOID(check_shape(*up, {rank, target->dims[1], target->dims[2], 1}));
  if (alpha != 0) scale *= alpha / static_cast<float>(rank);
  return AdapterPair{target->name, &down, up, scale};
}

Result<void> add_pairs(const gguf::File& adapter, const gguf::File& model, float scale,
                       std::vector<AdapterPair>& pairs) {
  const gguf::Metadata& metadata = adapter.metadata();
  PAWL_TRY_VOID(expect(metadata, "general.type", "adapter"));
  PAWL_TRY_VOID(expect(metadata, "adapter.type", "lora"));
  PAWL_TRY(const std::string_view architecture,
           model.metadata().get_string("general.architecture"));
  PAWL_TRY_VOID(expect(metadata, "general.architecture", architecture));
  constexpr std::string_view kInvocation = "adapter.alora.invocation_tokens";
  if (metadata.find(kInvocation) != nullptr) {
    return Error{ErrorCode::kUnsupported,
                 "key '" + std::string(kInvocation) +
                     "': adapters that a token switches on are not supported",
                 ""};
  }
  PAWL_TRY(const float alpha, metadata.get_f32_or("adapter.lora.alpha", 0.0f));
  if (!std::isfinite(alpha)) {
    return Error{ErrorCode::kBadFile, "key 'adapter.lora.alpha': is no finite number", ""};
  }
  for (const gguf::TensorView& tensor : adapter.tensors()) {
    if (tensor.name.ends_with(kDown)) {
      PAWL_TRY(const AdapterPair pair, make_pair(adapter, tensor, model, alpha, scale));
      pairs.push_back(pair);
      continue;
    }
    const std::string_view name = tensor.name.substr(0, tensor.name.size() - kUp.size());
    if (!tensor.name.ends_with(kUp))
      return tensor_error(ErrorCode::kUnsupported, tensor.name, "is no part of a LoRA adapter");
    if (adapter.find_tensor(std::string(name) + std::string(kDown)) == nullptr) {
      return tensor_error(ErrorCode::kBadFile, std::string(name) + std::string(kDown),
                          "is missing");
    }
  }
  return {};
}

}  // namespace

Result<AdapterFiles> AdapterFiles::open(std::span<const AdapterSource> sources,
                                        const gguf::File& model) {
  AdapterFiles files;
  for (const AdapterSource& source : sources) {
    PAWL_TRY(std::shared_ptr<const gguf::File> file, gguf::open(source.path));
    auto added = add_pairs(*file, model, source.scale, files.pairs_);
    if (!added.ok()) {
      added.error().where = source.path;
      return added.error();
    }
    files.files_.push_back(std::move(file));
  }
  return files;
}

Result<AdapterSource> parse_adapter_source(std::string_view text) {
  AdapterSource source{std::string(text), 1};
  const size_t at = text.rfind('=');
  if (at == std::string_view::npos) return source;
  const std::string_view number = text.substr(at + 1);
  source.path = text.substr(0, at);
  const auto [end, failure] =
      std::from_chars(number.data(), number.data() + number.size(), source.scale);
  if (failure == std::errc() && end == number.data() + number.size() && std::isfinite(source.scale))
    return source;
  return Error{ErrorCode::kInvalidArgument,
               base::quoted_text(number) + " after '=' is no finite scale", std::string(text)};
}

}  // namespace pawl::model
