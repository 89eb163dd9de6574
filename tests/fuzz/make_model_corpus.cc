// SPDX-License-Identifier: Apache-2.0
// Writes the seeds of fuzz_model: make_model_corpus FOLDER. Each is a model that loads, of another
// architecture or format.
#include <cstdio>
#include <string>
#include <utility>

#include "support/small_model.h"

int main(int argc, char** argv) {
  using pawl::gguf::TensorType;
  using pawl::tests::SmallModel;
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_model_corpus FOLDER\n");
    return 2;
  }
  SmallModel f32, f16, qwen3, q8_0;
  f16.type = TensorType::kF16;
  f16.has_output = true;
  f16.kv_heads = 2;
  qwen3.architecture = "qwen3";
  qwen3.type = TensorType::kBF16;
  q8_0.type = TensorType::kQ8_0;
  q8_0.width = q8_0.feed_forward = 32;
  q8_0.head_dim = 16;
  const std::pair<const char*, const SmallModel*> seeds[] = {
      {"f32", &f32}, {"f16", &f16}, {"qwen3-bf16", &qwen3}, {"q8_0", &q8_0}};
  for (const auto& [name, model] : seeds) {
    const auto written = model->writer().write(std::string(argv[1]) + "/" + name + ".gguf");
    if (written.ok()) continue;
    std::fprintf(stderr, "%s: %s\n", written.error().where.c_str(),
                 written.error().message.c_str());
    return 1;
  }
  return 0;
}
