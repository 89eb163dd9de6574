// SPDX-License-Identifier: Apache-2.0
#include "model/quantize_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>

#include "base/pending_file.h"
#include "gguf/writer.h"
#include "kernels/dequantize.h"
#include "kernels/quantize.h"
#include "model/tensors.h"

namespace pawl::model {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using gguf::TensorType;

// The numbers of general.file_type are the format's.
constexpr std::array kTypes = {
    QuantizeType{"q8_0", TensorType::kQ8_0, TensorType::kQ8_0, false, 7},
    QuantizeType{"q6_k", TensorType::kQ6_K, TensorType::kQ6_K, false, 18},
    QuantizeType{"q5_k_m", TensorType::kQ5_K, TensorType::kQ6_K, true, 17},
    QuantizeType{"q5_k", TensorType::kQ5_K, TensorType::kQ6_K, false, 16},
    QuantizeType{"q4_k_m", TensorType::kQ4_K, TensorType::kQ6_K, true, 15},
    QuantizeType{"q4_k", TensorType::kQ4_K, TensorType::kQ6_K, false, 14},
    QuantizeType{"q4_0", TensorType::kQ4_0, TensorType::kQ6_K, false, 2},
};

// Parts of names of matrices that are small or are no factors of a product.
constexpr std::string_view kKept[] = {"_norm.weight",      "ffn_gate_inp",      "position_embd",
                                      "token_types",       "ssm_conv1d",        "shortconv.conv",
                                      "rope_factors_long", "rope_factors_short"};

bool is_float(TensorType type) {
  return type == TensorType::kF32 || type == TensorType::kF16 || type == TensorType::kBF16;
}

std::string_view why_kept(const gguf::TensorView& tensor) {
  if (tensor.n_dims < 2 || !tensor.name.ends_with(".weight")) return "a vector";
  if (!is_float(tensor.type)) return "quantised already";
  for (const std::string_view part : kKept) {
    if (tensor.name.find(part) != std::string_view::npos) return "small, and every bit counts";
  }
  if (tensor.dims[0] % 32 != 0) return "its rows are no multiple of 32";
  return "";
}

// "blk.7." → 7; -1 for what is in no layer.
int layer_of(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  int layer = -1;
  if (name.starts_with(kPrefix))
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
  return layer;
}

// The first and last eighth of the layers, and every third between them.
bool has_more_bits(int layer, int layers) {
  const int eighth = layers / 8;
  return layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
}

TensorType mixed_type(std::string_view name, const QuantizeType& type, int layers) {
  if (name.find("attn_qkv.weight") != std::string_view::npos)
    return type.type == TensorType::kQ4_K ? TensorType::kQ5_K : TensorType::kQ6_K;
  const bool is_candidate = name.find("attn_v.weight") != std::string_view::npos ||
                            name.find("ffn_down") != std::string_view::npos;
  return is_candidate && has_more_bits(layer_of(name), layers) ? TensorType::kQ6_K : type.type;
}

TensorPlan plan_tensor(const gguf::TensorView& tensor, const QuantizeType& type, bool is_pure,
                       bool is_output, int layers) {
  if (const std::string_view reason = why_kept(tensor); !reason.empty())
    return {&tensor, tensor.type, reason};
  TensorPlan plan{&tensor, type.type, ""};
  if (!is_pure && is_output) {
    plan.type = type.output;
  } else if (!is_pure && type.gives_some_more_bits) {
    plan.type = mixed_type(tensor.name, type, layers);
  }
  if (plan.type != type.type) plan.reason = is_output ? "gives the logits" : "part of the mix";
  if (tensor.dims[0] % gguf::tensor_type_info(plan.type).group != 0) {
    plan.type = TensorType::kQ8_0;
    plan.reason = "its rows are no multiple of 256";
  }
  return plan;
}

gguf::Writer head_of(const gguf::File& file, std::span<const TensorPlan> plan,
                     const QuantizeType& type) {
  gguf::Writer writer;
  for (const auto& [key, value] : file.metadata().entries()) {
    const bool is_replaced = key == "general.file_type" || key == "general.quantization_version" ||
                             key == "general.alignment" || key.starts_with("split.");
    if (!is_replaced) writer.add(key, value);
  }
  writer.add("general.file_type", type.file_type);
  writer.add("general.quantization_version", uint32_t{2});
  for (const TensorPlan& item : plan) {
    const gguf::TensorView& t = *item.tensor;
    writer.announce_tensor(t.name, item.type, {t.dims.begin(), t.dims.begin() + t.n_dims},
                           static_cast<uint64_t>(planned_bytes({&item, 1})));
  }
  return writer;
}

// Writes the tensors of one file, piece by piece.
class TensorWriter {
 public:
  TensorWriter(const gguf::File& file, base::PendingFile& out, base::TaskPool& pool,
               const WriteOptions& options, int64_t total)
      : file_(file), out_(out), pool_(pool), options_(options), total_(total) {}

  Result<void> write(const TensorPlan& plan, uint32_t alignment) {
    const int64_t before = done_;
    PAWL_TRY_VOID(plan.type == plan.tensor->type ? copy(*plan.tensor) : convert(plan));
    const int64_t rest = (done_ - before) % alignment;
    const std::vector<std::byte> zeros(static_cast<size_t>(rest == 0 ? 0 : alignment - rest));
    return out_.write(zeros);
  }

 private:
  static constexpr int64_t kPieceBytes = 4 << 20;  // of what is read

  Result<void> put(std::span<const std::byte> bytes) {
    if (options_.stop.stop_requested()) return Error{ErrorCode::kCancelled, "interrupted", ""};
    PAWL_TRY_VOID(out_.write(bytes));
    done_ += static_cast<int64_t>(bytes.size());
    if (options_.progress) options_.progress(done_, total_);
    return {};
  }

  Result<void> copy(const gguf::TensorView& tensor) {
    for (auto rest = tensor.data; !rest.empty();) {
      const auto piece = rest.first(std::min<size_t>(kPieceBytes, rest.size()));
      PAWL_TRY_VOID(put(piece));
      file_.release(piece);
      rest = rest.subspan(piece.size());
    }
    return {};
  }

  Result<void> convert(const TensorPlan& plan) {
    const gguf::TensorView& tensor = *plan.tensor;
    const auto target = static_cast<kernels::Format>(plan.type);
    const int64_t cols = tensor.dims[0], rows = tensor.dims[1] * tensor.dims[2] * tensor.dims[3];
    const int64_t in_bytes = kernels::raw_row_bytes(format_of(tensor), cols);
    const int64_t out_bytes = kernels::raw_row_bytes(target, cols);
    const int64_t piece_rows = std::max<int64_t>(1, kPieceBytes / in_bytes);
    std::vector<std::byte> made(static_cast<size_t>(std::min(piece_rows, rows) * out_bytes));
    std::vector<std::vector<float>> values(static_cast<size_t>(pool_.threads()),
                                           std::vector<float>(static_cast<size_t>(cols)));
    for (int64_t first = 0; first < rows; first += piece_rows) {
      const int64_t count = std::min(piece_rows, rows - first);
      const std::byte* from = tensor.data.data() + first * in_bytes;
      std::atomic<int64_t> bad_row{rows};  // the first of them
      pool_.run(count, 4, [&](int64_t begin, int64_t end, int worker) {
        float* x = values[static_cast<size_t>(worker)].data();
        for (int64_t i = begin; i < end; ++i) {
          kernels::dequantize_row(format_of(tensor), from + i * in_bytes, cols, x);
          // Also false for what is no number.
          const bool is_good = std::all_of(
              x, x + cols, [](float v) { return std::fabs(v) <= kernels::kMostWeight; });
          if (is_good) {
            kernels::quantize_row(target, x, cols, made.data() + i * out_bytes);
            continue;
          }
          int64_t known = bad_row.load();
          while (first + i < known && !bad_row.compare_exchange_weak(known, first + i)) {
          }
        }
      });
      if (bad_row.load() < rows) {
        return tensor_error(ErrorCode::kInvalidArgument, tensor.name,
                            "row " + std::to_string(bad_row.load()) +
                                " holds a number that is none, or is beyond 65504");
      }
      PAWL_TRY_VOID(put(std::span(made).first(static_cast<size_t>(count * out_bytes))));
      file_.release({from, static_cast<size_t>(count * in_bytes)});
    }
    return {};
  }

  const gguf::File& file_;
  base::PendingFile& out_;
  base::TaskPool& pool_;
  const WriteOptions& options_;
  int64_t total_, done_ = 0;
};

}  // namespace

std::span<const QuantizeType> quantize_types() {
  return kTypes;
}

const QuantizeType* find_quantize_type(std::string_view name) {
  const auto at = std::ranges::find(kTypes, name, &QuantizeType::name);
  return at == kTypes.end() ? nullptr : &*at;
}

Result<std::vector<TensorPlan>> plan_quantization(const gguf::File& file, const QuantizeType& type,
                                                  bool is_pure) {
  const std::string_view output =
      file.find_tensor("output.weight") != nullptr ? "output.weight" : "token_embd.weight";
  int layers = 0;
  for (const gguf::TensorView& tensor : file.tensors())
    layers = std::max(layers, layer_of(tensor.name) + 1);
  std::vector<TensorPlan> plan;
  bool has_change = false;
  for (const gguf::TensorView& tensor : file.tensors()) {
    plan.push_back(plan_tensor(tensor, type, is_pure, tensor.name == output, layers));
    has_change |= plan.back().type != tensor.type;
  }
  if (has_change) return plan;
  return Error{ErrorCode::kInvalidArgument,
               "no matrix of the file is F32, F16 or BF16: a file that is quantised already is not "
               "quantised again",
               ""};
}

int64_t planned_bytes(std::span<const TensorPlan> plan) {
  int64_t bytes = 0;
  for (const TensorPlan& item : plan) {
    const gguf::TensorView& t = *item.tensor;
    bytes += item.type == t.type
                 ? static_cast<int64_t>(t.data.size())
                 : t.dims[1] * t.dims[2] * t.dims[3] *
                       kernels::raw_row_bytes(static_cast<kernels::Format>(item.type), t.dims[0]);
  }
  return bytes;
}

Result<void> write_quantized(const gguf::File& file, std::span<const TensorPlan> plan,
                             const QuantizeType& type, const std::string& path,
                             base::TaskPool& pool, const WriteOptions& options) {
  const std::string partial = path + ".partial-" + std::to_string(::getpid());
  PAWL_TRY(auto out, base::PendingFile::create(partial, base::PendingFile::Unfinished::kRemove));
  const gguf::Writer head = head_of(file, plan, type);
  PAWL_TRY_VOID(out.write(head.head()));
  TensorWriter writer(file, out, pool, options, planned_bytes(plan));
  for (const TensorPlan& item : plan) PAWL_TRY_VOID(writer.write(item, head.alignment()));
  return out.commit(path);
}

}  // namespace pawl::model
