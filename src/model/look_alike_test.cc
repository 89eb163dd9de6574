// SPDX-License-Identifier: Apache-2.0
// Architectures that the shared reference models do not have: against llama.cpp's logits of models
// in tests/golden/look_alikes (make.py there), and, without such a model, shown on one that differs
// in nothing the file at hand uses: under the other name it gives the reference logits of its own.
#include <gtest/gtest.h>

#include "model/changed_copy_for_test.h"
#include "model/session_for_test.h"
#include "support/golden.h"
#include "support/logits.h"

namespace pawl::model {
namespace {

using base::TokenId;

struct LookAlike {
  const char* name;
  const char* file;  // golden/tiny
};

const LookAlike kLookAlikes[] = {{"codeshell", "starcoder2"}, {"starcoder", "gpt2"}};

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
  return changed_copy(file, changes);
}

class LookAlikeModel : public testing::TestWithParam<LookAlike> {};

TEST_P(LookAlikeModel, GivesTheLogitsOfTheOneItLooksLike) {
  const std::string tiny = std::string("tiny/") + GetParam().file;
  const auto gguf = tests::golden_path(tiny + ".gguf"), json = tests::golden_path(tiny + ".json"),
             npy = tests::golden_path(tiny + ".logits.npy");
  if (!gguf || !json || !npy) GTEST_SKIP() << "missing: golden/" << tiny;
  const std::vector<std::byte> bytes = renamed(*gguf::open(*gguf).value(), GetParam());
  TestSession session(gguf::open_bytes(bytes).value(), best(), 1, Precision::kReference);
  EXPECT_EQ(session.model().config().architecture->name, GetParam().name);
  const auto ids = tests::read_json(*json)["sequences"][1].get<std::vector<TokenId>>();
  const std::vector<float> rows = session.append(ids, 512, static_cast<int>(ids.size()));
  const tests::Npy expected = tests::read_npy(*npy);
  EXPECT_LE(tests::largest_difference(rows, {expected.row(5), rows.size()}), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Golden, LookAlikeModel, testing::ValuesIn(kLookAlikes),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

class ReferenceModel : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string name = std::string("look_alikes/") + GetParam();
    path_ = *tests::golden_path(name + ".gguf");
    exact_ = tests::read_npy(*tests::golden_path(name + ".logits.npy"));
    const nlohmann::json info =
        tests::read_json(*tests::golden_path("look_alikes/look_alikes.json"));
    for (const auto& s : info["sequences"]) sequences_.push_back(s.get<std::vector<TokenId>>());
  }

  std::vector<float> rows(TestSession& session, int chunk) {
    std::vector<float> all;
    for (const std::vector<TokenId>& ids : sequences_) {
      session.restart();
      const auto part = session.append(ids, chunk, static_cast<int>(ids.size()));
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  std::string path_;
  tests::Npy exact_;
  std::vector<std::vector<TokenId>> sequences_;
};

TEST_P(ReferenceModel, GivesTheExactLogits) {
  TestSession session(path_, best(), 2, Precision::kReference);
  const std::vector<float> got = rows(session, 512);
  ASSERT_EQ(got.size(), exact_.data.size());
  EXPECT_LE(tests::largest_difference(got, exact_.data), 1e-3);
  EXPECT_TRUE(session.model().unused_tensors().empty());
}

TEST_P(ReferenceModel, SameBitsForEveryChunkThreadCountAndVariant) {
  expect_same_bits(
      {1, 3}, {1, 7, 512},
      [&](const kernels::Table& table, int threads) {
        return TestSession(path_, table, threads, Precision::kFast);
      },
      [&](TestSession& session, int chunk) { return rows(session, chunk); });
}

INSTANTIATE_TEST_SUITE_P(Golden, ReferenceModel,
                         testing::Values("exaone", "xverse", "chatglm", "qwen2vl", "qwen3vl",
                                         "qwen3vlmoe", "hunyuan-dense", "deepseek", "ernie4_5-moe",
                                         "dots1", "minimax-m2", "deepseek2-groups", "qwen35moe",
                                         "granitehybrid", "falcon-mamba"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

// Groups of one expert each, or all groups, leave the selection as it is; one group of several does
// not.
TEST(ExpertGroups, ChangeTheSelectionOnlyWhereTheyLeaveExpertsOut) {
  const auto path = tests::golden_path("tiny/deepseek2-mla.gguf");
  if (!path) GTEST_SKIP() << "missing: golden/tiny/deepseek2-mla.gguf";
  const std::shared_ptr<const gguf::File> file = gguf::open(*path).value();
  std::vector<TokenId> ids;
  for (int i = 0; i < 60; ++i) ids.push_back(6 + i * 11 % 400);
  const auto logits = [&](uint32_t groups, uint32_t used) {
    Changes changes;
    changes.add_more = [&](gguf::Writer& writer) {
      writer.add("deepseek2.expert_group_count", groups);
      writer.add("deepseek2.expert_group_used_count", used);
    };
    const std::vector<std::byte> bytes = changed_copy(*file, changes);
    TestSession session(gguf::open_bytes(bytes).value(), best(), 1, Precision::kReference);
    return session.append(ids, 512, 60);
  };
  const std::vector<float> none = logits(1, 1);  // 6 experts, 2 used
  EXPECT_EQ(logits(6, 2), none);
  EXPECT_EQ(logits(3, 3), none);
  EXPECT_GT(tests::largest_difference(none, logits(3, 1)), 0.1);
}

}  // namespace
}  // namespace pawl::model
