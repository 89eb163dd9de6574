// SPDX-License-Identifier: Apache-2.0
// Every case of tests/golden/policy/sampling.json: the kept ids exactly and in order, probabilities
// to 1e-6. The cases were computed by an independent implementation and confirmed with llama.cpp's
// samplers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "policy/explain.h"

namespace pawl::policy {
namespace {

using Json = nlohmann::json;

// A case as the policy and the history that our knobs make of it.
struct Setting {
  Policy policy;
  std::vector<base::TokenId> history;
};

Setting setting_of(const Json& steps) {
  Setting setting;
  std::vector<Stage>& samplers = setting.policy.samplers;
  for (const auto& step : steps) {
    const std::string rule = step.begin().key();
    const Json& value = step.begin().value();
    if (rule == "bias") {
      for (const auto& [id, bias] : value.items()) {
        setting.policy.logit_bias.push_back({std::stoi(id), bias.get<double>()});
      }
      continue;
    }
    samplers.push_back(parse_samplers(rule).value().front());
    if (rule != "penalties") {
      EXPECT_TRUE(set_knob(setting.policy, rule, value.get<double>()).ok()) << rule;
      continue;
    }
    setting.history = value["history"].get<std::vector<base::TokenId>>();
    for (const char* kind : {"repetition", "presence", "frequency"}) {
      if (!value.contains(kind)) continue;
      EXPECT_TRUE(set_knob(setting.policy, std::string(kind) + "_penalty", value[kind]).ok());
    }
  }
  return setting;
}

Json read_golden() {
  std::ifstream file(std::string(PAWL_SOURCE_DIR) + "/tests/golden/policy/sampling.json");
  return Json::parse(file, nullptr, false);
}

TEST(PolicyGolden, EveryCaseKeepsTheSameIdsWithTheSameProbabilities) {
  const Json golden = read_golden();
  ASSERT_FALSE(golden.is_discarded());
  Scratch scratch;
  int cases = 0;
  for (const Json& expected : golden["cases"]) {
    const std::string name =
        expected["name"].get<std::string>() + " on " + expected["logits"].get<std::string>();
    const auto row =
        golden["logits"][expected["logits"].get<std::string>()].get<std::vector<float>>();
    const Setting setting = setting_of(expected["steps"]);
    ASSERT_TRUE(validate(setting.policy).ok()) << name;
    const History history(setting.policy, setting.history);
    const Explanation explanation =
        explain({.row = row, .policy = setting.policy, .history = history, .draw = {1, 2}},
                static_cast<int32_t>(row.size()), scratch);
    const StageEffect& left = explanation.stages.back();
    const auto ids = expected["ids"].get<std::vector<base::TokenId>>();
    ASSERT_EQ(left.top.size(), ids.size()) << name;
    ASSERT_EQ(left.kept, static_cast<int64_t>(ids.size())) << name;
    for (size_t i = 0; i < ids.size(); ++i) {
      ASSERT_EQ(left.top[i].id, ids[i]) << name << ", place " << i;
      ASSERT_NEAR(left.top[i].p, expected["probs"][i].get<double>(), 1e-6)
          << name << ", place " << i;
    }
    EXPECT_NE(std::find(ids.begin(), ids.end(), explanation.choice.id), ids.end()) << name;
    ++cases;
  }
  EXPECT_EQ(cases, 126);
}

// The draws themselves, against the golden probabilities: no id outside, and all of the likely ones
// seen.
TEST(PolicyGolden, DrawsStayWithinTheKeptIds) {
  const Json golden = read_golden();
  Scratch scratch;
  for (const Json& expected : golden["cases"]) {
    const auto row =
        golden["logits"][expected["logits"].get<std::string>()].get<std::vector<float>>();
    const Setting setting = setting_of(expected["steps"]);
    const History history(setting.policy, setting.history);
    const auto ids = expected["ids"].get<std::set<base::TokenId>>();
    std::set<base::TokenId> seen;
    for (uint64_t position = 0; position < 200; ++position) {
      seen.insert(
          explain({.row = row, .policy = setting.policy, .history = history, .draw = {3, position}},
                  0, scratch)
              .choice.id);
    }
    EXPECT_TRUE(std::includes(ids.begin(), ids.end(), seen.begin(), seen.end()))
        << expected["name"];
    for (size_t i = 0; i < expected["ids"].size(); ++i) {
      // (1 - 0.1)^200 is 7e-10
      const bool likely = expected["probs"][i].get<double>() > 0.1;
      EXPECT_TRUE(!likely || seen.count(expected["ids"][i]) == 1);
    }
  }
}

}  // namespace
}  // namespace pawl::policy
