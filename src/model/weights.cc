// SPDX-License-Identifier: Apache-2.0
#include "model/weights.h"

#include <algorithm>
#include <array>
#include <set>

#include "kernels/dequantize.h"

namespace pawl::model {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// Rows are packed 16 at a time. What filling up the last ones may cost, whatever the model's size.
constexpr int64_t kMostPaddingBytes = 16 << 20;

// Sizes that tensors are made of.
enum class Dim { kWidth, kQueries, kKeys, kValues, kHeads, kHeadDim, kFeedForward };

struct VectorRow {
  const char* name;
  Vector LayerWeights::*member;
  Presence (*presence)(const Architecture&);
  Dim size;
};

struct MatrixRow {
  const char* name;
  Matrix LayerWeights::*member;
  Dim rows, cols;
};

Presence always(const Architecture&) {
  return Presence::kRequired;
}
Presence qkv_bias(const Architecture& a) {
  return a.qkv_bias;
}
Presence qk_norm(const Architecture& a) {
  return a.qk_norm;
}
Presence post_norms(const Architecture& a) {
  return a.post_norms;
}

constexpr std::array kVectors = {
    VectorRow{"attn_norm.weight", &LayerWeights::attention_norm, always, Dim::kWidth},
    VectorRow{"attn_q.bias", &LayerWeights::q_bias, qkv_bias, Dim::kQueries},
    VectorRow{"attn_k.bias", &LayerWeights::k_bias, qkv_bias, Dim::kKeys},
    VectorRow{"attn_v.bias", &LayerWeights::v_bias, qkv_bias, Dim::kValues},
    VectorRow{"attn_q_norm.weight", &LayerWeights::q_norm, qk_norm, Dim::kHeadDim},
    VectorRow{"attn_k_norm.weight", &LayerWeights::k_norm, qk_norm, Dim::kHeadDim},
    VectorRow{"post_attention_norm.weight", &LayerWeights::attention_post_norm, post_norms,
              Dim::kWidth},
    VectorRow{"ffn_norm.weight", &LayerWeights::feed_forward_norm, always, Dim::kWidth},
    VectorRow{"post_ffw_norm.weight", &LayerWeights::feed_forward_post_norm, post_norms,
              Dim::kWidth},
};

constexpr std::array kMatrices = {
    MatrixRow{"attn_q.weight", &LayerWeights::q, Dim::kQueries, Dim::kWidth},
    MatrixRow{"attn_k.weight", &LayerWeights::k, Dim::kKeys, Dim::kWidth},
    MatrixRow{"attn_v.weight", &LayerWeights::v, Dim::kValues, Dim::kWidth},
    MatrixRow{"attn_output.weight", &LayerWeights::output, Dim::kWidth, Dim::kHeads},
    MatrixRow{"ffn_gate.weight", &LayerWeights::gate, Dim::kFeedForward, Dim::kWidth},
    MatrixRow{"ffn_up.weight", &LayerWeights::up, Dim::kFeedForward, Dim::kWidth},
    MatrixRow{"ffn_down.weight", &LayerWeights::down, Dim::kWidth, Dim::kFeedForward},
};

int64_t size_of(Dim dim, const ModelConfig& config, const LayerConfig& layer) {
  switch (dim) {
    case Dim::kWidth:
      return config.width;
    case Dim::kQueries:
      return int64_t{config.heads} * config.head_dim;
    case Dim::kKeys:
      return int64_t{layer.kv_heads} * config.head_dim;
    case Dim::kValues:
      return int64_t{layer.kv_heads} * config.value_dim;
    case Dim::kHeads:
      return int64_t{config.heads} * config.value_dim;
    case Dim::kHeadDim:
      return config.head_dim;
    case Dim::kFeedForward:
      return config.feed_forward;
  }
  return 0;
}

std::string shape_text(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  return text + "]";
}

kernels::Format format_of(const gguf::TensorView& tensor) {
  return static_cast<kernels::Format>(static_cast<uint32_t>(tensor.type));
}

Error tensor_error(ErrorCode code, std::string_view name, const std::string& message) {
  return Error{code, "tensor '" + std::string(name) + "': " + message, ""};
}

class Loader {
 public:
  Loader(const gguf::File& file, ModelConfig& config, base::TaskPool& pool)
      : file_(file), config_(config), pool_(pool) {}

  Result<Weights> load(std::vector<std::string>& unused) {
    PAWL_TRY_VOID(find_shared());
    for (size_t i = 0; i < config_.layers.size(); ++i)
      PAWL_TRY_VOID(find_layer(static_cast<int>(i)));
    PAWL_TRY_VOID(pack_all());
    for (const gguf::TensorView& tensor : file_.tensors()) {
      if (!used_.contains(tensor.name)) unused.emplace_back(tensor.name);
    }
    return std::move(weights_);
  }

 private:
  struct Pending {
    const gguf::TensorView* tensor;
    int layer;  // -1: the output matrix
    Matrix LayerWeights::*member;
  };

  // The tensor, its shape and format checked; null where it is absent and need not be there.
  Result<const gguf::TensorView*> find(const std::string& name, std::initializer_list<int64_t> dims,
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

  Result<Vector> read_vector(const std::string& name, int64_t size, bool is_required) {
    PAWL_TRY(const gguf::TensorView* tensor, find(name, {size}, is_required));
    if (tensor == nullptr) return Vector{};
    Vector values(static_cast<size_t>(size));
    kernels::dequantize_row(format_of(*tensor), tensor->data.data(), size, values.data());
    return values;
  }

  Result<void> find_shared() {
    const gguf::TensorView* embedding = file_.find_tensor("token_embd.weight");
    if (embedding == nullptr)
      return tensor_error(ErrorCode::kBadFile, "token_embd.weight", "is missing");
    config_.vocabulary = static_cast<int>(std::min<int64_t>(embedding->dims[1], INT32_MAX));
    PAWL_TRY(embedding, find("token_embd.weight", {config_.width, config_.vocabulary}, true));
    PAWL_TRY(const gguf::TensorView* output,
             find("output.weight", {config_.width, config_.vocabulary}, false));
    if (output != nullptr) weights_.embedding = embedding;
    pending_.push_back({output != nullptr ? output : embedding, -1, nullptr});
    PAWL_TRY(weights_.output_norm, read_vector("output_norm.weight", config_.width, true));
    PAWL_TRY(weights_.rope_factors,
             read_vector("rope_freqs.weight", config_.ropes[0].rotary / 2, false));
    return {};
  }

  Result<void> find_layer(int index) {
    const LayerConfig& layer = config_.layers[static_cast<size_t>(index)];
    const std::string prefix = "blk." + std::to_string(index) + ".";
    LayerWeights& weights = weights_.layers.emplace_back();
    for (const VectorRow& row : kVectors) {
      const Presence presence = row.presence(*config_.architecture);
      if (presence == Presence::kNever) continue;
      PAWL_TRY(weights.*row.member,
               read_vector(prefix + row.name, size_of(row.size, config_, layer),
                           presence == Presence::kRequired));
    }
    for (const MatrixRow& row : kMatrices) {
      PAWL_TRY(const gguf::TensorView* tensor,
               find(prefix + row.name,
                    {size_of(row.cols, config_, layer), size_of(row.rows, config_, layer)}, true));
      pending_.push_back({tensor, index, row.member});
    }
    return {};
  }

  Result<void> pack_all() {
    int64_t total = 0, raw = 0;
    for (const Pending& item : pending_) {
      total += describe(*item.tensor).bytes();
      raw += static_cast<int64_t>(item.tensor->data.size());
    }
    if (total > 2 * raw + kMostPaddingBytes) {
      return Error{ErrorCode::kUnsupported,
                   "the matrices have so few rows that " + std::to_string(raw) +
                       " bytes of weights would take " + std::to_string(total) +
                       " in blocks of 16 rows, more than twice as many",
                   ""};
    }
    PAWL_TRY(weights_.arena, base::Arena::create(total));
    std::byte* out = weights_.arena.data();
    for (const Pending& item : pending_) {
      Matrix matrix = describe(*item.tensor);
      matrix.packed = out;
      pack(*item.tensor, matrix, out);
      out += matrix.bytes();
      (item.layer < 0 ? weights_.output
                      : weights_.layers[static_cast<size_t>(item.layer)].*item.member) = matrix;
    }
    return {};
  }

  static Matrix describe(const gguf::TensorView& tensor) {
    Matrix matrix{.format = format_of(tensor), .rows = tensor.dims[1], .cols = tensor.dims[0]};
    matrix.block_bytes = kernels::packed_block_bytes(matrix.format, matrix.cols);
    return matrix;
  }

  // In slabs, each of which is given back to the file once it is packed: never two resident copies.
  void pack(const gguf::TensorView& tensor, const Matrix& matrix, std::byte* out) {
    constexpr int64_t kSlabBytes = 8 << 20;
    const int64_t file_bytes =
        kernels::kRowsPerBlock * kernels::raw_row_bytes(matrix.format, matrix.cols);
    const int64_t slab = std::max<int64_t>(1, kSlabBytes / file_bytes);
    for (int64_t first = 0; first < matrix.row_blocks(); first += slab) {
      const int64_t count = std::min(slab, matrix.row_blocks() - first);
      pool_.run(count, 8, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) pack_row_block(tensor, matrix, first + i, out);
      });
      const auto done = static_cast<size_t>(std::min<int64_t>(
          (first + count) * file_bytes, static_cast<int64_t>(tensor.data.size())));
      file_.release(tensor.data.first(done).subspan(static_cast<size_t>(first * file_bytes)));
    }
  }

  static void pack_row_block(const gguf::TensorView& tensor, const Matrix& matrix, int64_t block,
                             std::byte* out) {
    const int64_t row_bytes = kernels::raw_row_bytes(matrix.format, matrix.cols);
    const std::byte* rows[kernels::kRowsPerBlock] = {};
    for (int i = 0; i < kernels::kRowsPerBlock; ++i) {
      const int64_t row = block * kernels::kRowsPerBlock + i;
      if (row < matrix.rows) rows[i] = tensor.data.data() + row * row_bytes;
    }
    kernels::pack_block(matrix.format, rows, matrix.cols, out + block * matrix.block_bytes);
  }

  const gguf::File& file_;
  ModelConfig& config_;
  base::TaskPool& pool_;
  Weights weights_;
  std::vector<Pending> pending_;
  std::set<std::string_view> used_;
};

}  // namespace

Result<Weights> load_weights(const gguf::File& file, ModelConfig& config, base::TaskPool& pool,
                             std::vector<std::string>& unused) {
  return Loader(file, config, pool).load(unused);
}

}  // namespace pawl::model
