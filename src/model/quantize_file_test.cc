// SPDX-License-Identifier: Apache-2.0
#include "model/quantize_file.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "model/changed_copy_for_test.h"
#include "support/golden.h"
#include "support/small_model.h"

namespace pawl::model {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using gguf::TensorType;

class QuantizeFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("pawl-quantize-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    path_ = folder_ / "out.gguf";
  }
  void TearDown() override { fs::remove_all(folder_); }

  base::Result<void> write(const gguf::File& file, std::string_view type, bool is_pure = false,
                           const WriteOptions& options = {}) {
    const QuantizeType& row = *find_quantize_type(type);
    PAWL_TRY(const auto plan, plan_quantization(file, row, is_pure));
    return write_quantized(file, plan, row, path_, pool_, options);
  }
  size_t files_left() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  base::TaskPool pool_{2};
  fs::path folder_;
  std::string path_;
};

// llama-quantize made the golden files of the same weights: every byte of every tensor is the same.
TEST_F(QuantizeFile, TensorsAreThoseOfTheReferenceTool) {
  const struct {
    const char *type, *file;
    bool is_pure;
  } cases[] = {{"q8_0", "q8_0", true},   {"q6_k", "q6_k", true}, {"q5_k", "q5_k_s", true},
               {"q4_k", "q4_k_s", true}, {"q4_0", "q4_0", true}, {"q4_k_m", "q4_k_m", false}};
  const auto source = tests::golden_path("quants/llama-f16.gguf");
  if (!source) GTEST_SKIP() << "missing: golden/quants/llama-f16.gguf";
  const auto file = gguf::open(*source).value();
  for (const auto& c : cases) {
    const auto theirs = tests::golden_path(std::string("quants/llama-") + c.file + ".gguf");
    if (!theirs) GTEST_SKIP() << "missing: golden/quants/llama-" << c.file << ".gguf";
    const base::Result<void> written = write(*file, c.type, c.is_pure);
    ASSERT_TRUE(written.ok()) << written.error().message;
    const auto made = gguf::open(path_).value(), expected = gguf::open(*theirs).value();
    ASSERT_EQ(made->tensors().size(), expected->tensors().size());
    for (const gguf::TensorView& t : expected->tensors()) {
      const gguf::TensorView* found = made->find_tensor(t.name);
      ASSERT_NE(found, nullptr) << t.name;
      EXPECT_EQ(found->type, t.type) << c.type << " " << t.name;
      EXPECT_TRUE(std::ranges::equal(found->data, t.data)) << c.type << " " << t.name;
    }
  }
}

TEST_F(QuantizeFile, KeysStayAndNormsStayAndTheTypeIsSaid) {
  const auto source = tests::golden_path("tiny/qwen3.gguf");
  if (!source) GTEST_SKIP() << "missing: golden/tiny/qwen3.gguf";
  const auto file = gguf::open(*source).value();
  ASSERT_TRUE(write(*file, "q4_0").ok());
  const auto made = gguf::open(path_).value();
  EXPECT_EQ(made->metadata().get_u32("general.file_type").value(), 2u);
  EXPECT_EQ(made->metadata().get_u32("general.quantization_version").value(), 2u);
  for (const auto& [key, value] : file->metadata().entries()) {
    if (key == "general.file_type" || key == "general.quantization_version") continue;
    const gguf::Value* found = made->metadata().find(key);
    ASSERT_NE(found, nullptr) << key;
    EXPECT_TRUE(std::ranges::equal(found->payload, value.payload)) << key;
  }
  for (const gguf::TensorView& t : file->tensors()) {
    const gguf::TensorView* found = made->find_tensor(t.name);
    ASSERT_NE(found, nullptr) << t.name;
    EXPECT_EQ(found->dims, t.dims) << t.name;
    if (t.name.find("norm") != std::string_view::npos) {
      EXPECT_TRUE(std::ranges::equal(found->data, t.data)) << t.name;
    } else if (t.name == "output.weight" || t.name == "token_embd.weight") {
      // Rows of 64 have no Q6_K.
      EXPECT_TRUE(found->type == TensorType::kQ8_0 || found->type == TensorType::kQ4_0) << t.name;
    } else {
      EXPECT_EQ(found->type, TensorType::kQ4_0) << t.name;
    }
  }
}

TEST_F(QuantizeFile, RowsTooShortForAKTypeAreQ8AndItIsSaid) {
  const auto source = tests::golden_path("tiny/qwen3.gguf");
  if (!source) GTEST_SKIP() << "missing: golden/tiny/qwen3.gguf";
  const auto file = gguf::open(*source).value();
  const auto plan = plan_quantization(*file, *find_quantize_type("q4_k"), true).value();
  int fallen = 0;
  for (const TensorPlan& item : plan) {
    if (item.type != TensorType::kQ8_0) continue;
    EXPECT_EQ(item.reason, "its rows are no multiple of 256");
    ++fallen;
  }
  EXPECT_GT(fallen, 10);
}

TEST_F(QuantizeFile, AFileThatIsQuantisedAlreadyIsRefused) {
  tests::SmallModel small;
  small.width = 32;
  small.feed_forward = 32;
  small.head_dim = 16;
  small.type = TensorType::kQ8_0;
  const std::vector<std::byte> bytes = small.writer().bytes();
  const auto plan =
      plan_quantization(*gguf::open_bytes(bytes).value(), *find_quantize_type("q4_0"), false);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(plan.error().message.find("quantised already"), std::string::npos);
}

TEST_F(QuantizeFile, ANumberThatIsNoneIsNamedByTensorAndRowAndNothingIsLeft) {
  const auto source = tests::golden_path("tiny/qwen3.gguf");
  if (!source) GTEST_SKIP() << "missing: golden/tiny/qwen3.gguf";
  const auto file = gguf::open(*source).value();
  for (const uint16_t half : {uint16_t{0x7e00}, uint16_t{0xfc00}}) {  // NaN, -infinity
    Changes changes;
    std::vector<std::byte> data;
    changes.replace_tensor = [&](const gguf::TensorView& t, gguf::Writer& writer) {
      if (t.name != "blk.1.ffn_up.weight") return false;
      data.assign(t.data.begin(), t.data.end());
      std::memcpy(data.data() + (5 * t.dims[0] + 3) * 2, &half, 2);
      writer.add_tensor(t.name, t.type, {t.dims.begin(), t.dims.begin() + t.n_dims}, data);
      return true;
    };
    const std::vector<std::byte> bytes = changed_copy(*file, changes);
    const auto written = write(*gguf::open_bytes(bytes).value(), "q8_0");
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(
        written.error().message,
        "tensor 'blk.1.ffn_up.weight': row 5 holds a number that is none, or is beyond 65504");
    EXPECT_EQ(files_left(), 0u);
  }
}

TEST_F(QuantizeFile, AStopLeavesWhatWasThereBefore) {
  const auto source = tests::golden_path("tiny/qwen3.gguf");
  if (!source) GTEST_SKIP() << "missing: golden/tiny/qwen3.gguf";
  const auto file = gguf::open(*source).value();
  ASSERT_TRUE(write(*file, "q8_0").ok());
  const auto before = fs::file_size(path_);
  std::stop_source stop;
  int64_t seen = 0;
  const WriteOptions options{[&](int64_t done, int64_t total) {
                               EXPECT_LE(done, total);
                               seen = done;
                               stop.request_stop();
                             },
                             stop.get_token()};
  const auto written = write(*file, "q4_0", false, options);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kCancelled);
  EXPECT_GT(seen, 0);
  EXPECT_EQ(fs::file_size(path_), before);
  EXPECT_EQ(files_left(), 1u);
}

}  // namespace
}  // namespace pawl::model
