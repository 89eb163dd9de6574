// SPDX-License-Identifier: Apache-2.0
// Writes the seeds of fuzz_gguf: make_gguf_corpus FOLDER. Each is a valid file that reaches another
// part of the reader.
#include <cstdio>
#include <string>
#include <vector>

#include "gguf/writer.h"

namespace {

using pawl::gguf::TensorType;
using pawl::gguf::ValueType;
using pawl::gguf::Writer;

std::vector<std::byte> zeros(size_t count) {
  return std::vector<std::byte>(count);
}

Writer every_value() {
  Writer writer;
  writer.add("u8", uint8_t{1});
  writer.add("i8", int8_t{-1});
  writer.add("u16", uint16_t{1});
  writer.add("i16", int16_t{-1});
  writer.add("u32", uint32_t{1});
  writer.add("i32", int32_t{-1});
  writer.add("u64", uint64_t{1});
  writer.add("i64", int64_t{-1});
  writer.add("f32", 1.0F);
  writer.add("f64", 1.0);
  writer.add("bool", true);
  writer.add("string", "text");
  return writer;
}

Writer every_array() {
  Writer writer;
  writer.add_array("u8", std::vector<uint8_t>{1, 2});
  writer.add_array("i32", std::vector<int32_t>{1, -2});
  writer.add_array("u32", std::vector<uint32_t>{1, 2});
  writer.add_array("u64", std::vector<uint64_t>{1, 2});
  writer.add_array("f32", std::vector<float>{1, 2});
  writer.add_array("bool", std::vector<bool>{true, false});
  writer.add_array("string", std::vector<std::string>{"a", "bc", ""});
  writer.add_raw_array("empty", ValueType::kString, 0, {});
  // One array of one array of no uint8.
  writer.add_raw_array("array", ValueType::kArray, 1, zeros(12));
  return writer;
}

Writer model(uint32_t version) {
  Writer writer(version);
  writer.add("general.architecture", "llama");
  writer.add("llama.block_count", uint32_t{1});
  writer.add_array("llama.attention.head_count_kv", std::vector<int32_t>{2, 0});
  writer.add_array("tokenizer.ggml.tokens", std::vector<std::string>{"<s>", "a", "b"});
  writer.add_array("tokenizer.ggml.scores", std::vector<float>{0, -1, -2});
  writer.add_tensor("token_embd.weight", TensorType::kQ8_0, {32, 3}, zeros(102));
  writer.add_tensor("output_norm.weight", TensorType::kF32, {4}, zeros(16));
  writer.add_tensor("four", TensorType::kF16, {2, 1, 2, 1}, zeros(8));
  return writer;
}

Writer aligned() {
  Writer writer;
  writer.set_alignment(8);
  writer.add_tensor("a", TensorType::kI8, {3}, zeros(3));
  writer.add_tensor("b", TensorType::kIQ4_XS, {256}, zeros(136));
  return writer;
}

Writer split() {
  Writer writer;
  writer.add("split.no", uint16_t{0});
  writer.add("split.count", uint16_t{1});
  writer.add("split.tensors.count", int32_t{0});
  return writer;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_gguf_corpus FOLDER\n");
    return 2;
  }
  const std::pair<const char*, Writer> seeds[] = {
      {"valid-empty", Writer()},       {"valid-values", every_value()},
      {"valid-arrays", every_array()}, {"valid-model-v3", model(3)},
      {"valid-model-v2", model(2)},    {"valid-alignment", aligned()},
      {"valid-split-of-one", split()},
  };
  for (const auto& [name, writer] : seeds) {
    const auto written = writer.write(std::string(argv[1]) + "/" + name + ".gguf");
    if (written.ok()) continue;
    std::fprintf(stderr, "%s: %s\n", written.error().where.c_str(),
                 written.error().message.c_str());
    return 1;
  }
  return 0;
}
