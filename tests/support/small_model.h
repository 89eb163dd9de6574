// SPDX-License-Identifier: Apache-2.0
// A complete model of a few kilobytes, made on the spot: shapes that no real file has, and seeds
// for the fuzz targets. Weights are small numbers without meaning; the vocabulary is byte-level
// with an unknown token in place of most bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gguf/types.h"
#include "gguf/writer.h"

namespace pawl::tests {

struct SmallModel {
  std::string architecture = "llama";
  uint32_t layers = 1, width = 8, heads = 2, kv_heads = 1, head_dim = 4, feed_forward = 8;
  uint32_t context = 64;
  gguf::TensorType type = gguf::TensorType::kF32;  // of the matrices
  bool has_output = false;                         // else the embedding serves for it

  static std::vector<std::string> tokens() {
    return {"<unk>",
            "<eos>",
            "a",
            "b",
            "ab",
            "\xC4\xA0",
            "\xC4\xA0"
            "a"};
  }

  gguf::Writer writer() const {
    gguf::Writer writer;
    add_metadata(writer);
    const uint64_t queries = uint64_t{heads} * head_dim, keys = uint64_t{kv_heads} * head_dim;
    const uint64_t vocabulary = tokens().size();
    add_matrix(writer, "token_embd.weight", width, vocabulary);
    if (has_output) add_matrix(writer, "output.weight", width, vocabulary);
    add_vector(writer, "output_norm.weight", width);
    for (uint32_t i = 0; i < layers; ++i) {
      const std::string prefix = "blk." + std::to_string(i) + ".";
      add_vector(writer, prefix + "attn_norm.weight", width);
      add_matrix(writer, prefix + "attn_q.weight", width, queries);
      add_matrix(writer, prefix + "attn_k.weight", width, keys);
      add_matrix(writer, prefix + "attn_v.weight", width, keys);
      add_matrix(writer, prefix + "attn_output.weight", queries, width);
      if (architecture == "qwen3") {
        add_vector(writer, prefix + "attn_q_norm.weight", head_dim);
        add_vector(writer, prefix + "attn_k_norm.weight", head_dim);
      }
      add_vector(writer, prefix + "ffn_norm.weight", width);
      add_matrix(writer, prefix + "ffn_gate.weight", width, feed_forward);
      add_matrix(writer, prefix + "ffn_up.weight", width, feed_forward);
      add_matrix(writer, prefix + "ffn_down.weight", feed_forward, width);
    }
    return writer;
  }

 private:
  void add_metadata(gguf::Writer& writer) const {
    writer.add("general.architecture", architecture);
    writer.add(architecture + ".block_count", layers);
    writer.add(architecture + ".embedding_length", width);
    writer.add(architecture + ".feed_forward_length", feed_forward);
    writer.add(architecture + ".context_length", context);
    writer.add(architecture + ".attention.head_count", heads);
    writer.add(architecture + ".attention.head_count_kv", kv_heads);
    writer.add(architecture + ".attention.key_length", head_dim);
    writer.add(architecture + ".attention.value_length", head_dim);
    writer.add("tokenizer.ggml.model", "gpt2");
    writer.add("tokenizer.ggml.pre", "gpt-2");
    writer.add_array("tokenizer.ggml.tokens", tokens());
    writer.add_array("tokenizer.ggml.token_type", std::vector<int32_t>{2, 3, 1, 1, 1, 1, 1});
    writer.add_array("tokenizer.ggml.merges", std::vector<std::string>{"a b", "\xC4\xA0 a"});
    writer.add("tokenizer.ggml.unknown_token_id", uint32_t{0});
    writer.add("tokenizer.ggml.eos_token_id", uint32_t{1});
  }

  static void add_vector(gguf::Writer& writer, const std::string& name, uint64_t size) {
    add_tensor(writer, name, gguf::TensorType::kF32, {size});
  }
  void add_matrix(gguf::Writer& writer, const std::string& name, uint64_t cols,
                  uint64_t rows) const {
    add_tensor(writer, name, type, {cols, rows});
  }

  static void add_tensor(gguf::Writer& writer, const std::string& name, gguf::TensorType type,
                         const std::vector<uint64_t>& dims) {
    const int64_t rows = dims.size() > 1 ? static_cast<int64_t>(dims[1]) : 1;
    const int64_t bytes = rows * gguf::row_bytes(type, static_cast<int64_t>(dims[0])).value();
    // 0x1c1c is a small half, so that no quantised format holds a scale that is no number.
    std::vector<std::byte> data(static_cast<size_t>(bytes), std::byte{0x1c});
    if (type == gguf::TensorType::kF32) {
      for (size_t i = 0; i < data.size() / sizeof(float); ++i) {
        const float value = static_cast<float>(i * 37 % 64) / 64.0F - 0.5F;
        std::memcpy(data.data() + i * sizeof(float), &value, sizeof(float));
      }
    }
    writer.add_tensor(name, type, dims, data);
  }
};

}  // namespace pawl::tests
