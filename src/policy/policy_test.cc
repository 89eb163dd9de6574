// SPDX-License-Identifier: Apache-2.0
#include "policy/policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace pawl::policy {
namespace {

bool mentions(const base::Result<void>& result, const std::string& text) {
  return !result.ok() && result.error().message.find(text) != std::string::npos;
}

TEST(Policy, DefaultsAreValidAndNeutralEverywhere) {
  const Policy policy = Policy::defaults();
  EXPECT_TRUE(validate(policy).ok());
  for (const Stage stage : default_samplers())
    EXPECT_FALSE(is_active(stage, policy)) << stage_name(stage);
  EXPECT_FALSE(is_active(Stage::kLogitBias, policy));
  EXPECT_FALSE(is_active(Stage::kBans, policy));
  EXPECT_FALSE(is_active(Stage::kEndTokens, policy));
  EXPECT_FALSE(is_active(Stage::kMirostat, policy));
  for (const Knob& knob : knobs()) EXPECT_EQ(knob.get(policy), knob.standard) << knob.name;
}

// The defaults of the OpenAI API: temperature 1, top_p 1, no penalties; and S-017.
TEST(Policy, S017_RepetitionControlsAreOffByDefault) {
  const Policy policy = Policy::defaults();
  EXPECT_EQ(policy.temperature, 1);
  EXPECT_EQ(policy.top_p, 1);
  EXPECT_EQ(policy.repetition_penalty, 1);
  EXPECT_EQ(policy.presence_penalty, 0);
  EXPECT_EQ(policy.frequency_penalty, 0);
  EXPECT_EQ(policy.dry_multiplier, 0);
  for (const char* name :
       {"repetition_penalty", "presence_penalty", "frequency_penalty", "dry_multiplier"}) {
    const std::string help = find_knob(name)->help;
    EXPECT_NE(help.find("temperature 0"), std::string::npos)
        << name;  // that it also acts there is said
  }
  for (const char* name : {"repeat_last_n", "dry_penalty_last_n"}) {
    EXPECT_NE(std::string(find_knob(name)->help).find("prompt and completion"), std::string::npos)
        << name;
  }
}

TEST(Policy, S011_EveryKnobRefusesAbsurdNumbersNamingItselfAndItsRange) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Knob& knob : knobs()) {
    for (const double value : {knob.minimum - 1, knob.maximum + 1, 1e300, -1e300, infinity,
                               -infinity, std::numeric_limits<double>::quiet_NaN()}) {
      Policy policy;
      EXPECT_TRUE(mentions(set_knob(policy, knob.name, value), std::string(knob.name) + " is "))
          << knob.name << " " << value;
      if (knob.real == nullptr) continue;
      policy.*knob.real = value;
      const auto result = validate(policy);
      EXPECT_TRUE(mentions(result, knob.name)) << knob.name << " " << value;
      EXPECT_TRUE(mentions(result, "outside of [")) << knob.name << " " << value;
      EXPECT_EQ(result.error().code, base::ErrorCode::kInvalidArgument);
      EXPECT_EQ(result.error().where, knob.name);
    }
    for (const double value : {knob.minimum, knob.maximum, knob.standard}) {
      Policy policy;
      EXPECT_TRUE(set_knob(policy, knob.name, value).ok()) << knob.name << " " << value;
      EXPECT_EQ(knob.get(policy), value);
    }
    if (knob.integer != nullptr) {
      Policy policy;
      EXPECT_TRUE(mentions(set_knob(policy, knob.name, knob.minimum + 0.5), "whole number"))
          << knob.name;
    }
  }
}

TEST(Policy, S011_TheFirstKnobOutOfRangeIsNamed) {
  Policy policy;
  policy.temperature = 999999;
  policy.top_p = -1;
  policy.repetition_penalty = 0;
  EXPECT_EQ(validate(policy).error().message, "temperature is 999999, outside of [0, 100]");
  policy.temperature = 1;
  EXPECT_EQ(validate(policy).error().message, "top_p is -1, outside of [0, 1]");
  policy.top_p = 1;
  EXPECT_EQ(validate(policy).error().message, "repetition_penalty is 0, outside of [0.01, 100]");
}

TEST(Policy, UnknownKnobIsRefusedByName) {
  Policy policy;
  EXPECT_TRUE(mentions(set_knob(policy, "heat", 1), "'heat'"));
  EXPECT_EQ(find_knob("heat"), nullptr);
}

TEST(Policy, LogitBiasOutOfRangeIsRefused) {
  Policy policy;
  policy.logit_bias = {{3, 100}, {4, -100}};
  EXPECT_TRUE(validate(policy).ok());
  policy.logit_bias.push_back({5, 100.5});
  EXPECT_TRUE(mentions(validate(policy), "logit_bias of id 5"));
  policy.logit_bias.back().second = std::nan("");
  EXPECT_FALSE(validate(policy).ok());
}

TEST(Policy, IdsOutsideOfTheVocabularyAreRefusedByName) {
  Policy policy;
  policy.logit_bias = {{9, 1}};
  policy.banned = {0};
  policy.allowed = {9};
  policy.dry_sequence_breakers = {{1, 9}};
  EXPECT_TRUE(validate_ids(policy, 10).ok());
  EXPECT_TRUE(mentions(validate_ids(policy, 9), "logit_bias: id 9, outside of [0, 8]"));
  policy.logit_bias.clear();
  policy.banned = {-1};
  EXPECT_TRUE(mentions(validate_ids(policy, 10), "banned: id -1"));
  policy.banned.clear();
  EXPECT_TRUE(mentions(validate_ids(policy, 9), "allowed: id 9"));
  policy.allowed.clear();
  EXPECT_TRUE(mentions(validate_ids(policy, 9), "dry_sequence_breakers: id 9"));
}

TEST(Policy, AKnobWhoseStageIsLeftOutIsRefused) {
  Policy policy;
  policy.samplers = {Stage::kTopP, Stage::kTemperature};
  policy.top_p = 0.9;
  EXPECT_TRUE(validate(policy).ok());
  policy.top_k = 40;
  EXPECT_EQ(validate(policy).error().message, "top_k is 40, and samplers leaves top_k out");
  policy.top_k = 0;
  policy.frequency_penalty = 0.5;
  EXPECT_EQ(validate(policy).error().message,
            "frequency_penalty is 0.5, and samplers leaves penalties out");
}

TEST(Policy, MirostatBesideAnotherCutIsRefused) {
  Policy policy;
  policy.mirostat = 2;
  EXPECT_TRUE(validate(policy).ok());
  policy.min_p = 0.05;
  EXPECT_EQ(validate(policy).error().message,
            "min_p is 0.05, and mirostat makes its own cut: set it to 0");
}

TEST(Policy, SamplersAreParsedInTheirOrder) {
  const auto stages = parse_samplers("temperature,top_k");
  ASSERT_TRUE(stages.ok());
  EXPECT_EQ(*stages, (std::vector<Stage>{Stage::kTemperature, Stage::kTopK}));
  EXPECT_EQ(parse_samplers("top_k,top_q").error().message, "no sampler is called 'top_q'");
  EXPECT_EQ(parse_samplers("top_k,top_p,top_k").error().message, "top_k stands in samplers twice");
  EXPECT_FALSE(parse_samplers("").ok());
  EXPECT_FALSE(parse_samplers("mask").ok());
  for (const Stage stage : default_samplers()) {
    EXPECT_EQ(*parse_samplers(stage_name(stage)), std::vector<Stage>{stage});
  }
}

// llama.cpp's documented default order.
TEST(Policy, TheDefaultOrderIsTheOneUsersKnow) {
  std::string names;
  for (const Stage stage : default_samplers()) names += std::string(stage_name(stage)) + " ";
  EXPECT_EQ(names, "penalties dry top_n_sigma top_k typical_p top_p min_p xtc temperature ");
}

}  // namespace
}  // namespace pawl::policy
