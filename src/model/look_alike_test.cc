// SPDX-License-Identifier: Apache-2.0
// Architectures that no reference model has by name, shown on one that differs in nothing the file
// at hand uses: the file under the other name gives the reference logits of its own.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <variant>

#include "model/changed_copy_for_test.h"
#include "model/session_for_test.h"
#include "support/golden.h"

namespace pawl::model {
namespace {

using base::TokenId;

// A key of the look-alike, which has a default that is not the other's.
struct Key {
  const char* name;
  std::variant<uint32_t, bool> value;
};

struct LookAlike {
  const char* name;
  const char* file;  // golden/tiny
  std::vector<Key> keys = {};
};

const LookAlike kLookAlikes[] = {
    {"exaone", "phi3"},
    {"xverse", "llama-untied"},
    {"chatglm", "internlm2"},
    {"qwen2vl", "qwen2"},
    {"qwen3vl", "qwen3"},
    {"qwen3vlmoe", "qwen3moe"},
    {"codeshell", "starcoder2"},
    {"starcoder", "gpt2"},
    {"deepseek", "llama-moe", {{"expert_weights_norm", true}}},
    {"ernie4_5-moe", "llama-moe", {{"interleave_moe_layer_step", 1u}}},
    {"dots1", "qwen3moe", {{"expert_weights_norm", true}, {"expert_gating_func", 1u}}},
    {"minimax-m2", "olmoe", {{"expert_weights_norm", false}, {"expert_gating_func", 1u}}},
    {"qwen35moe", "qwen35"},
    {"granitehybrid",
     "granite",
     {{"rope.scaling.finetuned", true},
      {"ssm.conv_kernel", 4u},
      {"ssm.inner_size", 64u},
      {"ssm.state_size", 16u},
      {"ssm.time_step_rank", 4u},
      {"ssm.group_count", 2u}}},
};

// The file under another architecture's name.
std::vector<std::byte> renamed(const gguf::File& file, const LookAlike& other) {
  const std::string from =
      std::string(file.metadata().get_string("general.architecture").value()) + ".";
  const std::string to = other.name;
  Changes changes;
  changes.replace_key = [&](std::string_view key, gguf::Writer& writer) {
    if (key == "general.architecture") {
      writer.add(key, to);
      return true;
    }
    if (!key.starts_with(from)) return false;
    const gguf::Value* value = file.metadata().find(key);
    const std::string name = to + "." + std::string(key.substr(from.size()));
    if (value->type == gguf::ValueType::kArray) {
      writer.add_raw_array(name, value->element, value->count, value->payload);
    } else if (value->type == gguf::ValueType::kString) {
      writer.add(name, file.metadata().get_string(key).value());
    } else {
      writer.add_raw(name, value->type, value->payload);
    }
    return true;
  };
  changes.add_more = [&](gguf::Writer& writer) {
    for (const Key& key : other.keys) {
      std::visit([&](auto value) { writer.add(to + "." + key.name, value); }, key.value);
    }
  };
  return changed_copy(file, changes);
}

class LookAlikeModel : public testing::TestWithParam<LookAlike> {};

TEST_P(LookAlikeModel, GivesTheLogitsOfTheOneItLooksLike) {
  const std::string tiny = std::string("tiny/") + GetParam().file;
  const auto gguf = tests::golden_path(tiny + ".gguf"), json = tests::golden_path(tiny + ".json"),
             npy = tests::golden_path(tiny + ".logits.npy");
  if (!gguf || !json || !npy) GTEST_SKIP() << "missing: golden/" << tiny;
  const std::string path = testing::TempDir() + "look_alike_" + GetParam().name + ".gguf";
  {
    const std::vector<std::byte> bytes = renamed(*gguf::open(*gguf).value(), GetParam());
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  }
  TestSession session(path, *kernels::choose_table("").value(), 1, Precision::kReference);
  EXPECT_EQ(session.model().config().architecture->name, GetParam().name);
  const auto ids = tests::read_json(*json)["sequences"][1].get<std::vector<TokenId>>();
  const std::vector<float> rows = session.append(ids, 512, static_cast<int>(ids.size()));
  const tests::Npy expected = tests::read_npy(*npy);
  double worst = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    worst = std::max(
        worst, std::abs(static_cast<double>(rows[i]) - static_cast<double>(expected.row(5)[i])));
  }
  EXPECT_LE(worst, 1e-3);
  std::remove(path.c_str());
}

INSTANTIATE_TEST_SUITE_P(Golden, LookAlikeModel, testing::ValuesIn(kLookAlikes),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

// HunYuan norms queries and keys after their rotation. A norm with equal weights does not see the
// rotation, any other does.
TEST(LookAlikeNorms, AfterTheRotationOnlyEqualWeightsGiveTheSame) {
  const auto path = tests::golden_path("tiny/qwen3.gguf");
  if (!path) GTEST_SKIP() << "missing: golden/tiny/qwen3.gguf";
  const std::shared_ptr<const gguf::File> file = gguf::open(*path).value();
  std::vector<TokenId> ids;
  for (int i = 0; i < 40; ++i) ids.push_back(6 + i * 11 % 400);
  const auto logits = [&](const std::vector<std::byte>& bytes) {
    const std::string copy = testing::TempDir() + "look_alike_norms.gguf";
    std::ofstream(copy, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    TestSession session(copy, *kernels::choose_table("").value(), 1, Precision::kReference);
    return session.append(ids, 512, 1);
  };
  const auto distance = [&](const gguf::File& of) {
    const std::vector<float> before = logits(changed_copy(of, {})),
                             after = logits(renamed(of, {"hunyuan-dense", "qwen3"}));
    double worst = 0;
    for (size_t i = 0; i < before.size(); ++i)
      worst = std::max(worst, static_cast<double>(std::abs(before[i] - after[i])));
    return worst;
  };
  Changes equal;
  equal.replace_tensor = [](const gguf::TensorView& t, gguf::Writer& writer) {
    if (t.name.find("_norm.weight") == std::string_view::npos ||
        (t.name.find("attn_q_norm") == std::string_view::npos &&
         t.name.find("attn_k_norm") == std::string_view::npos)) {
      return false;
    }
    const std::vector<float> ones(static_cast<size_t>(t.dims[0]), 1.25f);
    writer.add_tensor(t.name, t.type, {t.dims.begin(), t.dims.begin() + 1},
                      std::as_bytes(std::span(ones)));
    return true;
  };
  const std::vector<std::byte> bytes = changed_copy(*file, equal);
  EXPECT_LE(distance(*gguf::open_bytes(bytes).value()), 1e-4);
  EXPECT_GT(distance(*file), 0.1);
}

// Groups of one expert each, or all groups, leave the selection as it is; one group of several does
// not.
TEST(ExpertGroups, ChangeTheSelectionOnlyWhereTheyLeaveExpertsOut) {
  const auto path = tests::golden_path("tiny/deepseek2-mla.gguf");
  if (!path) GTEST_SKIP() << "missing: golden/tiny/deepseek2-mla.gguf";
  const std::shared_ptr<const gguf::File> file = gguf::open(*path).value();
  std::vector<TokenId> ids;
  for (int i = 0; i < 60; ++i) ids.push_back(6 + i * 11 % 400);
  const auto logits = [&](uint32_t groups, uint32_t used) {
    const std::string copy = testing::TempDir() + "expert_groups.gguf";
    Changes changes;
    changes.add_more = [&](gguf::Writer& writer) {
      writer.add("deepseek2.expert_group_count", groups);
      writer.add("deepseek2.expert_group_used_count", used);
    };
    const std::vector<std::byte> bytes = changed_copy(*file, changes);
    std::ofstream(copy, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    TestSession session(copy, *kernels::choose_table("").value(), 1, Precision::kReference);
    return session.append(ids, 512, 60);
  };
  const std::vector<float> none = logits(1, 1);  // 6 experts, 2 used
  EXPECT_EQ(logits(6, 2), none);
  EXPECT_EQ(logits(3, 3), none);
  const std::vector<float> grouped = logits(3, 1);
  double moved = 0;
  for (size_t i = 0; i < none.size(); ++i)
    moved = std::max(moved, static_cast<double>(std::abs(none[i] - grouped[i])));
  EXPECT_GT(moved, 0.1);
}

}  // namespace
}  // namespace pawl::model
