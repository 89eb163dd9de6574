// SPDX-License-Identifier: Apache-2.0
// Model files that are well-formed GGUF and wrong as models: each is refused by the name of what is
// wrong.
#include "model/config.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/changed_copy_for_test.h"
#include "model/model.h"
#include "support/golden.h"

namespace pawl::model {
namespace {

class BadModel : public testing::Test {
 protected:
  void SetUp() override {
    const auto path = tests::golden_path("tiny/qwen3.gguf");
    if (!path) GTEST_SKIP() << "missing: golden/tiny/qwen3.gguf";
    file_ = gguf::open(*path).value();
  }

  base::Result<std::shared_ptr<const Model>> load(const Changes& changes) {
    bytes_ = changed_copy(*file_, changes);
    auto copy = gguf::open_bytes(bytes_);
    if (!copy.ok()) return copy.error();
    return Model::create(*copy, pool_);
  }

  // The message of the error, or what happened instead.
  std::string refusal(const Changes& changes) {
    auto model = load(changes);
    return model.ok() ? "it loads" : model.error().message;
  }

  template <typename T>
  static Changes with_key(std::string name, T value) {
    Changes changes;
    changes.replace_key = [name, value](std::string_view key, gguf::Writer& writer) {
      if (key != name) return false;
      writer.add(key, value);
      return true;
    };
    return changes;
  }

  std::shared_ptr<const gguf::File> file_;
  std::vector<std::byte> bytes_;
  base::TaskPool pool_{1};
};

using testing::Test;

bool names(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    if (message.find(part) == std::string::npos) return false;
  }
  return true;
}

TEST_F(BadModel, AnUnchangedCopyLoads) {
  EXPECT_EQ(refusal({}), "it loads");
}

TEST_F(BadModel, AMissingTensorIsNamed) {
  Changes changes;
  changes.replace_tensor = [](const gguf::TensorView& t, gguf::Writer&) {
    return t.name == "blk.1.ffn_up.weight";
  };
  EXPECT_TRUE(names(refusal(changes), {"blk.1.ffn_up.weight", "missing"})) << refusal(changes);
}

TEST_F(BadModel, AWrongShapeIsNamedWithTheExpectedOne) {
  Changes changes;
  changes.replace_tensor = [](const gguf::TensorView& t, gguf::Writer& w) {
    if (t.name != "blk.0.attn_k.weight") return false;
    w.add_tensor(t.name, t.type,
                 {static_cast<uint64_t>(t.dims[0]), static_cast<uint64_t>(t.dims[1] / 2)},
                 t.data.first(t.data.size() / 2));
    return true;
  };
  EXPECT_TRUE(names(refusal(changes), {"blk.0.attn_k.weight", "[64, 32]", "[64, 64]"}))
      << refusal(changes);
}

TEST_F(BadModel, ATensorTypeWithoutKernelsSaysSo) {
  Changes changes;
  changes.replace_tensor = [](const gguf::TensorView& t, gguf::Writer& w) {
    if (t.name != "blk.0.attn_norm.weight") return false;
    w.add_tensor(t.name, gguf::TensorType::kI32, {64}, t.data);
    return true;
  };
  EXPECT_TRUE(names(refusal(changes), {"blk.0.attn_norm.weight", "I32", "no kernel"}))
      << refusal(changes);
}

TEST_F(BadModel, AnUnknownArchitectureListsTheKnownOnes) {
  const std::string message =
      refusal(with_key("general.architecture", std::string_view("made-up")));
  EXPECT_TRUE(names(message, {"general.architecture", "made-up", "gemma3", "qwen2"})) << message;
}

TEST_F(BadModel, S056_MoreLayersThanThereAreTensors) {
  for (const uint32_t layers : {0u, 3u, 513u, 100000u, 2147483647u, 4294967295u}) {
    const std::string message = refusal(with_key("qwen3.block_count", layers));
    EXPECT_TRUE(names(message, {"qwen3.block_count", std::to_string(layers).c_str()}) ||
                names(message, {"blk.2.", "missing"}))
        << message;
  }
}

TEST_F(BadModel, SizesOutOfRangeNameTheirKey) {
  for (const char* key :
       {"qwen3.embedding_length", "qwen3.attention.head_count", "qwen3.attention.head_count_kv",
        "qwen3.attention.key_length", "qwen3.feed_forward_length", "qwen3.rope.dimension_count"}) {
    for (const uint32_t value : {0u, 4294967295u}) {
      const std::string message = refusal(with_key(key, value));
      EXPECT_TRUE(names(message, {key})) << message;
    }
  }
  EXPECT_TRUE(
      names(refusal(with_key("qwen3.attention.head_count_kv", 3u)), {"head_count_kv", "3"}));
  EXPECT_TRUE(names(refusal(with_key("qwen3.rope.freq_base", -1.0f)), {"rope.freq_base"}));
  EXPECT_TRUE(
      names(refusal(with_key("qwen3.rope.freq_base", __builtin_nanf(""))), {"rope.freq_base"}));
}

TEST_F(BadModel, AnUnknownRopeScalingIsRefusedByName) {
  Changes changes;
  changes.add_more = [](gguf::Writer& w) {
    w.add("qwen3.rope.scaling.type", std::string_view("spiral"));
  };
  EXPECT_TRUE(names(refusal(changes), {"rope.scaling.type", "spiral", "yarn"})) << refusal(changes);
}

// A type, a factor, or the factor under its old name.
TEST_F(BadModel, RopeScalingIsReadInEachSpelling) {
  const auto rope = [&](const char* type, std::initializer_list<const char*> factors) {
    Changes changes;
    changes.add_more = [&](gguf::Writer& w) {
      if (type != nullptr) w.add("qwen3.rope.scaling.type", std::string_view(type));
      for (const char* factor : factors) w.add(std::string("qwen3.") + factor, 4.0f);
      w.add("qwen3.rope.scaling.original_context_length", uint32_t{64});
    };
    return load(changes).value()->config().ropes[0];
  };
  EXPECT_EQ(rope(nullptr, {}).factor, 1.0);
  EXPECT_EQ(rope("none", {"rope.scaling.factor"}).scaling, RopeScaling::kNone);
  EXPECT_EQ(rope("longrope", {"rope.scaling.factor"}).scaling, RopeScaling::kNone);
  for (const char* factor : {"rope.scaling.factor", "rope.scale_linear"}) {
    for (const char* type : {static_cast<const char*>(nullptr), "linear"}) {
      const RopeConfig linear = rope(type, {factor});
      EXPECT_EQ(linear.scaling, RopeScaling::kLinear);
      EXPECT_EQ(linear.factor, 4.0);
    }
  }
  EXPECT_EQ(rope("yarn", {"rope.scaling.factor"}).scaling, RopeScaling::kYarn);
  EXPECT_EQ(rope("yarn", {"rope.scaling.factor"}).factor, 4.0);
}

// Models of one architecture have both norms of heads or none.
TEST_F(BadModel, OneOfTwoNormsOfHeadsIsNotEnough) {
  const auto path = tests::golden_path("tiny/glm4moe.gguf");
  if (!path) GTEST_SKIP() << "missing: golden/tiny/glm4moe.gguf";
  file_ = gguf::open(*path).value();
  const auto without = [&](std::initializer_list<std::string_view> ends) {
    Changes changes;
    changes.replace_tensor = [ends](const gguf::TensorView& t, gguf::Writer&) {
      return std::ranges::any_of(ends, [&](auto end) { return t.name.ends_with(end); });
    };
    return refusal(changes);
  };
  EXPECT_EQ(without({"attn_q_norm.weight", "attn_k_norm.weight"}), "it loads");
  const std::string message = without({"attn_k_norm.weight"});
  EXPECT_TRUE(names(message, {"blk.0.attn_k_norm.weight", "missing"})) << message;
}

TEST_F(BadModel, S058_TensorsNobodyReadsAreListedAndHarmless) {
  Changes changes;
  const std::vector<float> zeros(64);
  changes.add_more = [&](gguf::Writer& w) {
    w.add_tensor("v.blk.0.attn_q.weight", gguf::TensorType::kF32, {64},
                 std::as_bytes(std::span(zeros)));
  };
  auto model = load(changes);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ((*model)->unused_tensors(), std::vector<std::string>{"v.blk.0.attn_q.weight"});
}

TEST_F(BadModel, LayersThatOnlyGuessAheadAreLeftOut) {
  Changes changes;
  changes.add_more = [](gguf::Writer& writer) {
    writer.add("qwen3.nextn_predict_layers", uint32_t{1});
  };
  const auto model = load(changes);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ((*model)->config().layers.size(), 1u);
  EXPECT_FALSE((*model)->unused_tensors().empty());
  changes.add_more = [](gguf::Writer& writer) {
    writer.add("qwen3.nextn_predict_layers", uint32_t{2});
  };
  EXPECT_EQ(refusal(changes), "key 'qwen3.nextn_predict_layers': 2 of 2 layers leave none");
}

class BadMixer : public BadModel {
 protected:
  void SetUp() override {}
  void open(const std::string& name) {
    const auto path = tests::golden_path("tiny/" + name + ".gguf");
    if (!path) GTEST_SKIP() << "missing: golden/tiny/" << name << ".gguf";
    file_ = gguf::open(*path).value();
  }
};

TEST_F(BadMixer, SizesOfStatesAreChecked) {
  open("mamba2");
  if (IsSkipped()) return;
  EXPECT_NE(refusal(with_key("mamba2.ssm.conv_kernel", uint32_t{1})).find("ssm.conv_kernel"),
            std::string::npos);
  EXPECT_NE(refusal(with_key("mamba2.ssm.state_size", uint32_t{1u << 20})).find("ssm.state_size"),
            std::string::npos);
  EXPECT_NE(refusal(with_key("mamba2.ssm.group_count", uint32_t{3})).find("ssm.group_count"),
            std::string::npos);
  EXPECT_NE(refusal(with_key("mamba2.ssm.state_size", uint32_t{17})).find("ssm_in.weight"),
            std::string::npos);
}

TEST_F(BadMixer, SizesOfLatentAttentionAreChecked) {
  open("deepseek2-mla");
  if (IsSkipped()) return;
  const auto refused = [&](const char* key, uint32_t value) {
    return refusal(with_key(std::string("deepseek2.attention.") + key, value));
  };
  EXPECT_NE(refused("kv_lora_rank", 28).find("attention.key_length"), std::string::npos);
  EXPECT_NE(refused("key_length_mla", 8).find("rope.dimension_count"), std::string::npos);
  EXPECT_NE(refused("head_count_kv", 4).find("attention.head_count_kv"), std::string::npos);
  EXPECT_NE(refused("value_length_mla", 16).find("attn_v_b.weight"), std::string::npos);
}

}  // namespace
}  // namespace pawl::model
