// SPDX-License-Identifier: Apache-2.0
// golden/tiny/sensitivity.json lists features that an engine could leave out, and how far that
// moves the logits of llama.cpp. Here the same is left out of the same files: the logits must move
// as far. So a feature that is not computed, or computed in another way than there, is noticed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <variant>

#include "kernels/dequantize.h"
#include "model/changed_copy_for_test.h"
#include "model/session_for_test.h"
#include "support/golden.h"
#include "support/logits.h"

namespace pawl::model {
namespace {

using base::TokenId;

// Each names a key without its architecture, or tensors by a part of their names.
struct WithoutKey {
  const char* name;
};
struct Key {
  const char* name;
  std::variant<uint32_t, float, bool, const char*> value;
};
struct Filled {
  const char* part;
  float value;
};
struct InPlaceOf {
  const char *part, *source;  // the part of the other tensor's name that stands there
};
using Change = std::variant<WithoutKey, Key, Filled, InPlaceOf>;

struct Feature {
  const char *model, *changed;  // as in the list
  std::vector<Change> changes;
  bool is_as_far = true;  // else it is only far
};

const WithoutKey kNoScaling = {"rope.scaling.type"}, kNoFactor = {"rope.scaling.factor"};

const Feature kFeatures[] = {
    {"llama-ropefreqs", "rope_freqs ignored", {Filled{"rope_freqs", 1}}},
    {"llama-ropelinear", "linear scaling ignored", {kNoScaling, kNoFactor}},
    {"llama-yarn", "yarn ignored", {kNoScaling, kNoFactor}},
    {"llama-yarn", "yarn taken as linear", {Key{"rope.scaling.type", "linear"}}},
    {"llama-mistral", "rope base 10000", {Key{"rope.freq_base", 10000.0f}}},
    {"llama-untied", "epsilon 1e-5", {Key{"attention.layer_norm_rms_epsilon", 1e-5f}}},
    {"qwen2", "no q bias", {Filled{"attn_q.bias", 0}}},
    {"qwen2", "no k bias", {Filled{"attn_k.bias", 0}}},
    {"qwen2", "no v bias", {Filled{"attn_v.bias", 0}}},
    {"qwen3", "no q norm weight", {Filled{"attn_q_norm", 1}}},
    {"qwen3", "no k norm weight", {Filled{"attn_k_norm", 1}}},
    {"gemma3", "window ignored", {Key{"attention.sliding_window", 4096u}}},
    {"gemma3", "window one too small", {Key{"attention.sliding_window", 31u}}},
    {"gemma3", "window one too large", {Key{"attention.sliding_window", 33u}}},
    {"gemma3", "global rope base 10000", {Key{"rope.freq_base", 10000.0f}}},
    {"gemma3-ropelinear", "linear scaling ignored", {kNoScaling, kNoFactor}},
    {"gemma2", "no softcap in attention", {Key{"attn_logit_softcapping", 1e6f}}},
    {"gemma2", "no final softcap", {Key{"final_logit_softcapping", 1e6f}}},
    {"gemma2", "window ignored", {Key{"attention.sliding_window", 4096u}}},
    {"phi3-longrope", "short factors used", {Filled{"rope_factors_long", 1}}},
    {"phi3-longrope", "no attn_factor", {WithoutKey{"rope.scaling.attn_factor"}}},
    {"granite", "no embedding scale", {Key{"embedding_scale", 1.0f}}},
    {"granite", "no residual scale", {Key{"residual_scale", 1.0f}}},
    {"granite", "attention scale 1/sqrt(d)", {Key{"attention.scale", 0.25f}}},
    {"granite", "no logit scale", {Key{"logit_scale", 1.0f}}},
    {"command-r", "no logit scale", {Key{"logit_scale", 1.0f}}},
    {"gptneox", "serial residual", {Key{"use_parallel_residual", false}}},
    {"gptneox-serial", "parallel residual", {Key{"use_parallel_residual", true}}},
    {"gptneox", "full rotary", {Key{"rope.dimension_count", 16u}}},
    {"phi2", "full rotary", {Key{"rope.dimension_count", 16u}}},
    {"phi2", "no output bias", {Filled{"output.bias", 0}}},
    {"gpt2", "no position embedding", {Filled{"position_embd", 0}}},
    {"falcon-40b", "attn_norm used twice", {InPlaceOf{"attn_norm_2", "attn_norm"}}},
    {"stablelm-parallel", "no q norm weight", {Filled{"attn_q_norm", 1}}},
    {"stablelm", "full rotary", {Key{"rope.dimension_count", 16u}}},
    {"llama-moe", "one expert", {Key{"expert_used_count", 1u}}},
    {"qwen2moe", "no shared experts", {Filled{"down_shexp", 0}}},
    {"qwen2moe", "no gate of the shared expert", {Filled{"ffn_gate_inp_shexp", 1e-3f}}},
    {"qwen3moe", "two experts", {Key{"expert_used_count", 2u}}},
    {"olmoe", "no q norm weight", {Filled{"attn_q_norm", 1}}},
    {"gpt-oss", "no sinks", {Filled{"attn_sinks", -1e9f}}},
    {"gpt-oss", "window ignored", {Key{"attention.sliding_window", 4096u}}},
    {"gpt-oss", "yarn ignored", {kNoScaling, kNoFactor}},
    {"gpt-oss", "no expert bias", {Filled{"exps.bias", 0}}},
    {"gpt-oss", "no router bias", {Filled{"ffn_gate_inp.bias", 0}}},
    {"deepseek2-mla", "no selection bias", {Filled{"exp_probs_b", 0}}},
    {"deepseek2-mla", "no expert scale", {Key{"expert_weights_scale", 1.0f}}},
    {"deepseek2-mla", "weights not normalised", {Key{"expert_weights_norm", false}}},
    {"deepseek2-mla", "softmax gating", {Key{"expert_gating_func", 1u}}},
    // Without the key llama.cpp puts YaRN's magnitude into the rotation and the scale of the
    // scores; the published code of these models has it in the rotation alone, and so have we.
    {"deepseek2-mla",
     "no yarn log multiplier",
     {WithoutKey{"rope.scaling.yarn_log_multiplier"}},
     false},
    {"deepseek2-mla", "yarn ignored", {kNoScaling, kNoFactor}},
    {"mamba2", "no conv bias", {Filled{"ssm_conv1d.bias", 0}}},
    {"mamba2", "no dt bias", {Filled{"ssm_dt.bias", 0}}},
    {"mamba2", "no D", {Filled{"ssm_d", 0}}},
    {"mamba2", "no norm weight", {Filled{"ssm_norm", 1}}},
    {"lfm2", "no q norm weight", {Filled{"attn_q_norm", 1}}},
    {"olmo3", "window ignored", {Key{"attention.sliding_window", 4096u}}},
    {"cohere2", "window ignored", {Key{"attention.sliding_window", 4096u}}},
    {"minicpm", "residual scale of the default", {WithoutKey{"residual_scale"}}},
    {"glm4", "full rotary", {Key{"rope.dimension_count", 16u}}},
    {"olmo", "no clamp", {Key{"attention.clamp_kqv", 1e6f}}},
    {"mpt", "no clamp", {Key{"attention.clamp_kqv", 1e6f}}},
    {"mpt", "ALiBi slopes halved", {Key{"attention.max_alibi_bias", 4.0f}}},
    {"bloom", "no embedding norm weight", {Filled{"token_embd_norm.weight", 1}}},
    {"granitemoe", "no shared expert", {Filled{"down_shexp", 0}}},
    {"glm4moe", "no selection bias", {Filled{"exp_probs_b", 0}}},
    {"glm4moe", "no expert scale", {Key{"expert_weights_scale", 1.0f}}},
    {"lfm2moe", "softmax gating", {Key{"expert_gating_func", 1u}}},
    {"mamba", "no dt bias", {Filled{"ssm_dt.bias", 0}}},
    {"qwen3next", "no dt bias", {Filled{"ssm_dt.bias", 0}}},
    {"qwen3next", "full rotary", {Key{"rope.dimension_count", 32u}}},
    {"qwen3next", "no norm weight", {Filled{"ssm_norm", 1}}},
    {"qwen35", "no k norm weight", {Filled{"attn_k_norm", 1}}},
};

// A file with a feature left out, and how many keys and tensors that touched.
class Without {
 public:
  Without(const gguf::File& file, const Feature& feature) : file_(file), feature_(feature) {}

  std::vector<std::byte> bytes() {
    Changes changes;
    changes.replace_key = [&](std::string_view key, gguf::Writer& writer) {
      return std::ranges::any_of(feature_.changes,
                                 [&](const Change& c) { return replaces_key(c, key, writer); });
    };
    changes.replace_tensor = [&](const gguf::TensorView& t, gguf::Writer& writer) {
      return std::ranges::any_of(feature_.changes,
                                 [&](const Change& c) { return replaces_tensor(c, t, writer); });
    };
    return changed_copy(file_, changes);
  }
  int touched() const { return touched_; }

 private:
  bool replaces_key(const Change& change, std::string_view key, gguf::Writer& writer) {
    const std::string prefix =
        std::string(file_.metadata().get_string("general.architecture").value()) + ".";
    const auto is_meant = [&](const char* name) { return key == prefix + name; };
    if (const auto* without = std::get_if<WithoutKey>(&change); without != nullptr) {
      if (!is_meant(without->name)) return false;
      ++touched_;
      return true;
    }
    const auto* other = std::get_if<Key>(&change);
    if (other == nullptr || !is_meant(other->name)) return false;
    std::visit(
        [&](auto value) {
          if constexpr (std::is_same_v<decltype(value), const char*>) {
            writer.add(key, std::string_view(value));
          } else {
            writer.add(key, value);
          }
        },
        other->value);
    ++touched_;
    return true;
  }

  bool replaces_tensor(const Change& change, const gguf::TensorView& t, gguf::Writer& writer) {
    const std::vector<uint64_t> dims(t.dims.begin(), t.dims.begin() + t.n_dims);
    if (const auto* filled = std::get_if<Filled>(&change); filled != nullptr) {
      if (t.name.find(filled->part) == std::string_view::npos) return false;
      std::vector<std::byte> data(t.data.size());
      const bool is_half = t.type == gguf::TensorType::kF16;
      const uint16_t half = kernels::float_to_half(filled->value);
      const size_t size = is_half ? sizeof(half) : sizeof(float);
      for (size_t at = 0; at < data.size(); at += size)
        std::memcpy(data.data() + at, is_half ? static_cast<const void*>(&half) : &filled->value,
                    size);
      writer.add_tensor(t.name, t.type, dims, data);
      ++touched_;
      return true;
    }
    const auto* other = std::get_if<InPlaceOf>(&change);
    if (other == nullptr) return false;
    std::string source(t.name);
    const size_t at = source.find(other->part);
    if (at == std::string::npos) return false;
    source.replace(at, std::string_view(other->part).size(), other->source);
    const auto found =
        std::ranges::find_if(file_.tensors(), [&](const auto& one) { return one.name == source; });
    writer.add_tensor(t.name, t.type, dims, found->data);
    ++touched_;
    return true;
  }

  const gguf::File& file_;
  const Feature& feature_;
  int touched_ = 0;
};

// The largest distance of a logit from the exact ones: of all positions of two short texts, and of
// the last of a long one.
struct Moved {
  double by_short = 0, by_long = 0;
};

Moved moved(const std::shared_ptr<const gguf::File>& file, const std::string& model) {
  const nlohmann::json info = tests::read_json(*tests::golden_path("tiny/" + model + ".json"));
  const tests::Npy exact = tests::read_npy(*tests::golden_path("tiny/" + model + ".logits.npy"));
  TestSession session(file, best(), 1, Precision::kReference);
  Moved result;
  int64_t row = 0;
  for (int i = 0; i < 3; ++i) {
    session.restart();
    const auto ids = info["sequences"][static_cast<size_t>(i)].get<std::vector<TokenId>>();
    const int wanted = i == 2 ? 1 : static_cast<int>(ids.size());
    const std::vector<float> rows = session.append(ids, 512, wanted);
    double& worst = i == 2 ? result.by_long : result.by_short;
    worst = std::max(worst, tests::largest_difference(rows, {exact.row(row), rows.size()}));
    row += wanted;
  }
  return result;
}

class LeftOut : public testing::TestWithParam<Feature> {};

TEST_P(LeftOut, MovesTheLogitsAsFarAsInTheReference) {
  const Feature& feature = GetParam();
  const auto list = tests::golden_path("tiny/sensitivity.json");
  const auto gguf = tests::golden_path(std::string("tiny/") + feature.model + ".gguf");
  if (!list || !gguf) GTEST_SKIP() << "missing: golden/tiny/" << feature.model;
  const nlohmann::json features = tests::read_json(*list);
  const auto expected = std::ranges::find_if(features, [&](const auto& f) {
    return f["model"] == feature.model && f["changed"] == feature.changed;
  });
  ASSERT_NE(expected, features.end());
  const std::shared_ptr<const gguf::File> file = gguf::open(*gguf).value();
  Without without(*file, feature);
  const std::vector<std::byte> bytes = without.bytes();
  ASSERT_GE(without.touched(), static_cast<int>(feature.changes.size()));
  const Moved found = moved(gguf::open_bytes(bytes).value(), feature.model);
  // Three digits stand in the list.
  const auto near = [](double value) { return 0.006 * value + 1e-4; };
  const double by_short = (*expected)["max_diff_rows_0_44"],
               by_long = (*expected)["max_diff_row_45"];
  if (!feature.is_as_far) {
    EXPECT_GT(std::max(found.by_short, found.by_long), 0.1);
    return;
  }
  EXPECT_NEAR(found.by_short, by_short, near(by_short));
  EXPECT_NEAR(found.by_long, by_long, near(by_long));
}

INSTANTIATE_TEST_SUITE_P(Golden, LeftOut, testing::ValuesIn(kFeatures), [](const auto& test) {
  std::string name = std::string(test.param.model) + "_" + test.param.changed;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

TEST(LeftOutFeatures, AreAllOfTheList) {
  const auto list = tests::golden_path("tiny/sensitivity.json");
  if (!list) GTEST_SKIP() << "missing: golden/tiny/sensitivity.json";
  const nlohmann::json features = tests::read_json(*list);
  EXPECT_EQ(features.size(), std::size(kFeatures));
  for (const auto& f : features) {
    const auto is_same = [&](const Feature& ours) {
      return f["model"] == ours.model && f["changed"] == ours.changed;
    };
    EXPECT_EQ(std::ranges::count_if(kFeatures, is_same), 1) << f;
  }
}

}  // namespace
}  // namespace pawl::model
