// SPDX-License-Identifier: Apache-2.0
// Architectures that the shared reference models do not have: against llama.cpp's logits of models
// in tests/golden/look_alikes (make.py there), and, without such a model, shown on one that differs
// in nothing the file at hand uses: under the other name it gives the reference logits of its own.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "model/changed_copy_for_test.h"
#include "model/session_for_test.h"
#include "support/golden.h"

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
  TestSession session(path_, *kernels::choose_table("").value(), 2, Precision::kReference);
  const std::vector<float> got = rows(session, 512);
  ASSERT_EQ(got.size(), exact_.data.size());
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, static_cast<double>(std::abs(got[i] - exact_.data[i])));
  EXPECT_LE(worst, 1e-3);
  EXPECT_TRUE(session.model().unused_tensors().empty());
}

TEST_P(ReferenceModel, SameBitsForEveryChunkThreadCountAndVariant) {
  std::vector<float> first;
  for (const char* name : {"scalar", "avx2", "avx512", "avx512vnni"}) {
    const auto table = kernels::choose_table(name);
    if (!table.ok()) continue;
    for (const int threads : {1, 3}) {
      TestSession session(path_, **table, threads, Precision::kFast);
      for (const int chunk : {1, 7, 512}) {
        const std::vector<float> got = rows(session, chunk);
        if (first.empty()) first = got;
        ASSERT_EQ(0, std::memcmp(first.data(), got.data(), got.size() * sizeof(float)))
            << name << ", " << threads << " threads, chunks of " << chunk;
      }
    }
  }
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
