// SPDX-License-Identifier: Apache-2.0
// Adapters against a model whose weights have the same products added to them in double precision,
// and files that are no adapter for the model at hand.
#include "model/adapter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "kernels/dequantize.h"
#include "kernels/kernels.h"
#include "model/changed_copy_for_test.h"
#include "model/session_for_test.h"
#include "support/golden.h"
#include "support/logits.h"

namespace pawl::model {
namespace {

namespace fs = std::filesystem;
using base::TokenId;
using gguf::TensorType;
using tests::largest_difference;

std::span<const std::byte> bytes_of(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

// Small numbers, the same for the same seed.
std::vector<float> noise(uint64_t seed, int64_t count, float size) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = size * (static_cast<float>((seed * 7919 + i * 104729) % 2003) / 1001.5f - 1.0f);
  }
  return values;
}

struct Made {
  std::vector<float> down, up;  // [rank, columns], [rows, rank], for each expert
  int64_t rank;
};

// Tensors of these names get an adapter of their own.
class Adapter : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto path = tests::golden_path("tiny/" + std::string(GetParam()) + ".gguf");
    if (!path) GTEST_SKIP() << "missing: golden/tiny/" << GetParam() << ".gguf";
    model_path_ = *path;
    file_ = gguf::open(*path).value();
    folder_ = fs::temp_directory_path() / ("pawl-adapter-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static bool is_adapted(const gguf::TensorView& t) {
    return t.n_dims >= 2 && t.name.starts_with("blk.") && t.name.ends_with(".weight") &&
           t.name.find("norm") == std::string_view::npos &&
           t.name.find("conv") == std::string_view::npos &&
           t.name.find("attn_k_b") == std::string_view::npos &&
           t.name.find("attn_v_b") == std::string_view::npos &&
           t.name.find("inp_shexp") == std::string_view::npos && t.dims[0] > 1;
  }

  // The adapter's file, as converters write it.
  std::string write_adapter(const std::string& name, uint64_t seed, float alpha) {
    gguf::Writer writer;
    writer.add("general.type", "adapter");
    writer.add("general.architecture",
               file_->metadata().get_string("general.architecture").value());
    writer.add("adapter.type", "lora");
    writer.add("adapter.lora.alpha", alpha);
    for (const gguf::TensorView& t : file_->tensors()) {
      if (!is_adapted(t)) continue;
      ++seed;
      const int64_t rank = 3 + static_cast<int64_t>(seed % 5), experts = t.dims[2];
      Made made{noise(seed, experts * rank * t.dims[0], 0.05f),
                noise(seed + 1000, experts * t.dims[1] * rank, 0.05f), rank};
      std::vector<uint64_t> down = {static_cast<uint64_t>(t.dims[0]), static_cast<uint64_t>(rank)};
      std::vector<uint64_t> up = {static_cast<uint64_t>(rank), static_cast<uint64_t>(t.dims[1])};
      if (t.n_dims == 3) {
        down.push_back(static_cast<uint64_t>(experts));
        up.push_back(static_cast<uint64_t>(experts));
      }
      writer.add_tensor(std::string(t.name) + ".lora_a", TensorType::kF32, down,
                        bytes_of(made.down));
      writer.add_tensor(std::string(t.name) + ".lora_b", TensorType::kF32, up, bytes_of(made.up));
      made_[name][std::string(t.name)] = std::move(made);
    }
    const std::string path = folder_ / name;
    EXPECT_TRUE(writer.write(path).ok());
    return path;
  }

  // W + scale * up · down of every adapter, as F32.
  std::string write_merged(const std::map<std::string, double>& scales) {
    Changes changes;
    changes.replace_tensor = [&](const gguf::TensorView& t, gguf::Writer& writer) {
      if (!is_adapted(t)) return false;
      const int64_t cols = t.dims[0], rows = t.dims[1];
      std::vector<float> w(static_cast<size_t>(cols * rows * t.dims[2]));
      const auto format = static_cast<kernels::Format>(static_cast<uint32_t>(t.type));
      for (int64_t r = 0; r < rows * t.dims[2]; ++r) {
        kernels::dequantize_row(format, t.data.data() + r * kernels::raw_row_bytes(format, cols),
                                cols, w.data() + r * cols);
      }
      for (const auto& [name, scale] : scales) {
        const Made& made = made_[name].at(std::string(t.name));
        for (int64_t r = 0; r < rows * t.dims[2]; ++r) {
          const float* up = made.up.data() + r * made.rank;
          const float* down = made.down.data() + r / rows * made.rank * cols;
          for (int64_t c = 0; c < cols; ++c) {
            double sum = 0;
            for (int64_t k = 0; k < made.rank; ++k) {
              sum += static_cast<double>(up[k]) * static_cast<double>(down[k * cols + c]);
            }
            float& target = w[static_cast<size_t>(r * cols + c)];
            target = static_cast<float>(static_cast<double>(target) +
                                        scale / static_cast<double>(made.rank) * sum);
          }
        }
      }
      writer.add_tensor(t.name, TensorType::kF32, {t.dims.begin(), t.dims.begin() + t.n_dims},
                        bytes_of(w));
      return true;
    };
    const std::string path = folder_ / "merged.gguf";
    const std::vector<std::byte> bytes = changed_copy(*file_, changes);
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    return path;
  }

  std::vector<float> rows(TestSession& session, int chunk) {
    session.restart();
    return session.append(kIds, chunk, static_cast<int>(kIds.size()));
  }

  std::vector<float> exact_rows(const std::string& path, std::span<const AdapterSource> adapters) {
    TestSession session(path, best(), 2, Precision::kReference, 256, 512, 128,
                        kernels::KvType::kF16, adapters);
    return rows(session, 512);
  }

  const std::vector<TokenId> kIds = {5, 17, 300, 42, 8, 9, 77, 130, 2, 64, 21, 400, 33};
  std::string model_path_;
  std::shared_ptr<const gguf::File> file_;
  std::map<std::string, std::map<std::string, Made>> made_;
  fs::path folder_;
};

TEST_P(Adapter, GivesTheLogitsOfWeightsThatItWasMergedInto) {
  const std::string one = write_adapter("one.gguf", 1, 16), two = write_adapter("two.gguf", 500, 4);
  const AdapterSource both[] = {{one, 1.0f}, {two, -0.5f}};
  const std::vector<float> plain = exact_rows(model_path_, {}),
                           adapted = exact_rows(model_path_, both);
  const std::vector<float> merged =
      exact_rows(write_merged({{"one.gguf", 16.0}, {"two.gguf", -0.5 * 4}}), {});
  std::printf("%s: moved by %.2g, off by %.1e\n", GetParam(), largest_difference(plain, merged),
              largest_difference(adapted, merged));
  EXPECT_GT(largest_difference(plain, merged), 0.1);
  EXPECT_LE(largest_difference(adapted, merged), 1e-3);
  const AdapterSource without[] = {{one, 0.0f}};
  EXPECT_EQ(exact_rows(model_path_, without), plain);
}

TEST_P(Adapter, SameBitsForEveryChunkThreadCountAndVariant) {
  const AdapterSource one[] = {{write_adapter("one.gguf", 1, 16), 1.0f}};
  expect_same_bits(
      {1, 3}, {1, 5, 64},
      [&](const kernels::Table& table, int threads) {
        return TestSession(model_path_, table, threads, Precision::kFast, 256, 512, 128,
                           kernels::KvType::kF16, one);
      },
      [&](TestSession& session, int chunk) { return rows(session, chunk); });
}

// Separate and fused inputs, experts, latent attention, layers with a state.
INSTANTIATE_TEST_SUITE_P(Golden, Adapter,
                         testing::Values("llama-untied", "phi3", "llama-moe", "deepseek2-mla",
                                         "mamba2", "qwen3next", "lfm2moe"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// ---- files that are refused
class BadAdapter : public testing::Test {
 protected:
  void SetUp() override {
    const auto path = tests::golden_path("tiny/qwen3.gguf");
    if (!path) GTEST_SKIP() << "missing: golden/tiny/qwen3.gguf";
    model_ = gguf::open(*path).value();
    path_ = fs::temp_directory_path() / ("pawl-bad-adapter-" + std::to_string(::getpid()));
  }
  void TearDown() override { fs::remove(path_); }

  static gguf::Writer head(std::string_view architecture = "qwen3") {
    gguf::Writer writer;
    writer.add("general.type", "adapter");
    writer.add("general.architecture", architecture);
    writer.add("adapter.type", "lora");
    writer.add("adapter.lora.alpha", 8.0f);
    return writer;
  }
  static void add(gguf::Writer& writer, const std::string& name, uint64_t cols, uint64_t rows) {
    writer.add_tensor(name, TensorType::kF32, {cols, rows},
                      bytes_of(std::vector<float>(cols * rows, 0.5f)));
  }
  // The message; where is the file.
  std::string error_of(const gguf::Writer& writer) {
    EXPECT_TRUE(writer.write(path_).ok());
    const AdapterSource source[] = {{path_, 1.0f}};
    base::TaskPool pool(1);
    const auto model = Model::create(model_, pool, source);
    if (model.ok()) return "(opened)";
    return model.error().message;
  }

  std::shared_ptr<const gguf::File> model_;
  fs::path path_;
};

TEST_F(BadAdapter, EachFaultIsNamed) {
  const std::string q = "blk.0.attn_q.weight";
  const gguf::TensorView* tensor = model_->find_tensor(q);
  ASSERT_NE(tensor, nullptr);
  const auto cols = static_cast<uint64_t>(tensor->dims[0]),
             rows = static_cast<uint64_t>(tensor->dims[1]);
  const auto pair = [&](gguf::Writer writer, const std::string& name, uint64_t a, uint64_t b) {
    add(writer, name + ".lora_a", a, 4);
    add(writer, name + ".lora_b", 4, b);
    return writer;
  };
  EXPECT_EQ(error_of(pair(head(), q, cols, rows)), "(opened)");
  EXPECT_EQ(error_of(gguf::Writer()), "key 'general.type' is missing");
  EXPECT_EQ(error_of(head("llama")), "key 'general.architecture': 'llama', expected 'qwen3'");
  EXPECT_EQ(error_of(pair(head(), "blk.9.attn_q.weight", cols, rows)),
            "tensor 'blk.9.attn_q.weight.lora_a': the model has no tensor 'blk.9.attn_q.weight'");
  const std::string c = std::to_string(cols), r = std::to_string(rows);
  EXPECT_EQ(error_of(pair(head(), q, cols + 1, rows)), "tensor '" + q + ".lora_a': shape [" +
                                                           std::to_string(cols + 1) +
                                                           ", 4], expected [" + c + ", 4]");
  EXPECT_EQ(error_of(pair(head(), q, cols, rows + 2)), "tensor '" + q + ".lora_b': shape [4, " +
                                                           std::to_string(rows + 2) +
                                                           "], expected [4, " + r + "]");
  gguf::Writer half = head();
  add(half, q + ".lora_a", cols, 4);
  EXPECT_EQ(error_of(half), "tensor '" + q + ".lora_b': is missing");
  gguf::Writer other_half = head();
  add(other_half, q + ".lora_b", 4, rows);
  EXPECT_EQ(error_of(other_half), "tensor '" + q + ".lora_a': is missing");
  gguf::Writer strange = head();
  add(strange, "blk.0.something", 4, 4);
  EXPECT_EQ(error_of(strange), "tensor 'blk.0.something': is no part of a LoRA adapter");
  EXPECT_EQ(error_of(pair(head(), "token_embd.weight", 64, 512)),
            "tensor 'token_embd.weight.lora_a': adapters of this matrix are not supported");
  gguf::Writer invoked = head();
  invoked.add_array("adapter.alora.invocation_tokens", std::vector<uint32_t>{1, 2});
  EXPECT_EQ(error_of(invoked),
            "key 'adapter.alora.invocation_tokens': adapters that a token switches on are not "
            "supported");
}

TEST(AdapterFlag, IsAFileWithOrWithoutAScale) {
  const auto read = [](std::string_view text) {
    const auto source = parse_adapter_source(text);
    return source.ok() ? source->path + " " + std::to_string(source->scale)
                       : source.error().message;
  };
  EXPECT_EQ(read("a.gguf"), "a.gguf 1.000000");
  EXPECT_EQ(read("dir=x/a.gguf=0.5"), "dir=x/a.gguf 0.500000");
  EXPECT_EQ(read("a.gguf=-2"), "a.gguf -2.000000");
  EXPECT_EQ(read("a.gguf="), "'' after '=' is no finite scale");
  EXPECT_EQ(read("a.gguf=inf"), "'inf' after '=' is no finite scale");
  EXPECT_EQ(read("a.gguf=1x"), "'1x' after '=' is no finite scale");
}

}  // namespace
}  // namespace pawl::model
