// SPDX-License-Identifier: Apache-2.0
// Which of two takes longer: published examples, the fence, and what is scored.
#include "lab/predict.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "lab/score.h"
#include "lab/simulated_sweep.h"

namespace pawl::lab {
namespace {

using testing::simulated;
using testing::simulated_sweep;
using testing::Truth;

std::vector<Deployment> published() {
  std::ifstream file(PAWL_SOURCE_DIR "/data/deployments.json");
  std::stringstream text;
  text << file.rdbuf();
  auto json = base::parse_json(text.str());
  EXPECT_TRUE(json.ok());
  auto deployments = parse_deployments(*json);
  EXPECT_TRUE(deployments.ok()) << deployments.error().message;
  return *deployments;
}

const Deployment* find(const std::vector<Deployment>& list, std::string_view name) {
  for (const Deployment& deployment : list) {
    if (deployment.name == name) return &deployment;
  }
  ADD_FAILURE() << name;
  return nullptr;
}

Side at(const Deployment* deployment, double prompt, double output) {
  Side side;
  side.shape = {prompt, output};
  side.place = deployment->name;
  side.deployment = deployment;
  return side;
}

TEST(Predict, AShortAnswerOfALargeModelLosesToALongOneOfASmallModel) {
  const auto list = published();
  const Prediction prediction =
      predict(at(find(list, "70b-a100"), 0, 500), at(find(list, "8b-h100"), 0, 2000));
  const RuleAnswer& length = prediction.rules[0];
  EXPECT_EQ(length.state, RuleState::kRefuses);
  ASSERT_EQ(length.reasons.size(), 2u);
  EXPECT_NE(length.reasons[0].find("70B"), std::string::npos);
  EXPECT_NE(length.reasons[1].find("A100"), std::string::npos);
  const RuleAnswer& rate = prediction.rules[1];
  ASSERT_EQ(rate.state, RuleState::kAnswers);
  EXPECT_NEAR(rate.a_ms->value, 25'000, 1);
  EXPECT_NEAR(rate.b_ms->value, 22'222, 1);
  EXPECT_EQ(rate.slower, Slower::kA);
}

TEST(Predict, TwentyThousandInEndTenTimesSoonerThanTwoThousandOutAtARateOf140) {
  const auto list = published();
  const Deployment* claim = find(list, "claim");
  const Shape a{20'000, 50}, b{200, 2'000};
  const Prediction prediction =
      predict(at(claim, a.prompt, a.output), at(claim, b.prompt, b.output));
  const RuleAnswer& full = prediction.rules[2];
  ASSERT_EQ(full.state, RuleState::kAnswers);
  EXPECT_EQ(full.slower, Slower::kB);
  EXPECT_NEAR(full.b_ms->value / full.a_ms->value, (200. / 140 + 2000) / (20'000. / 140 + 50),
              1e-9);
  EXPECT_NEAR(full.b_ms->value / full.a_ms->value, 10.4, 0.1);
  ASSERT_TRUE(prediction.flips_at);
  EXPECT_NEAR(*prediction.flips_at, 19'800. / 1'950, 1e-9);
  // At that rate both take equally long, and below it the order is the other way round.
  EXPECT_NEAR(weighted_tokens(a, *prediction.flips_at), weighted_tokens(b, *prediction.flips_at),
              1e-6);
  EXPECT_GT(weighted_tokens(a, 5), weighted_tokens(b, 5));
  EXPECT_FALSE(flip_rate({100, 10}, {200, 20}));  // more of both is slower at every rate
}

TEST(Predict, SizesAloneBoundADeploymentFromBelow) {
  const auto list = published();
  const Deployment* h200 = find(list, "8b-h200");
  Deployment best = *h200;
  best.decode_share = {1, 1};
  // 8B at 16 bits on 4.8 TB/s cannot exceed 299 tok/s (16 GB and a little context per token).
  EXPECT_NEAR(1000 / deployment_output_token_ms(best, 0)->value, 300, 0.5);
  EXPECT_NEAR(1000 / deployment_output_token_ms(best, 400)->value, 299, 0.5);
  const auto assumed = deployment_output_token_ms(*h200, 0);
  EXPECT_LT(assumed->interval.low, assumed->value);
  EXPECT_GT(assumed->interval.high, assumed->value);
}

TEST(Predict, AForeignFileOfDeploymentsIsRefusedByMember) {
  const auto where = [](std::string_view text) {
    auto json = base::parse_json(text);
    EXPECT_TRUE(json.ok());
    auto list = parse_deployments(*json);
    return list.ok() ? std::string("accepted") : list.error().where;
  };
  EXPECT_EQ(where("{}"), "deployments");
  EXPECT_EQ(where(R"({"deployments":[{"name":"x"},{}]})"), "deployments[1].name");
  EXPECT_EQ(where(R"({"deployments":[{"name":"x","decode_tok_s":-1}]})"),
            "deployments[0].decode_tok_s");
  EXPECT_EQ(where(R"({"deployments":[{"name":"x","decode_share":[0.9,0.5]}]})"),
            "deployments[0].decode_share");
}

struct Measured {
  Profile profile;
  Split split;
};
Measured measured(uint64_t seed, std::string server = "pawl") {
  Measured result;
  result.profile.points = points_of(simulated_sweep({}, seed));
  Conditions& conditions = result.profile.conditions;
  conditions.api = "chat", conditions.model = conditions.answered_model = "m";
  conditions.server = std::move(server), conditions.server_version = "1";
  conditions.server_machine = "machine", conditions.server_threads = 2, conditions.concurrency = 1;
  conditions.cache = "unique prompt heads", conditions.sampling = "temperature 0";
  result.split = Split::of(result.profile.points, seed);
  return result;
}
Side side_of(const Measured& measured, double prompt, double output) {
  Side side;
  side.shape = {prompt, output};
  side.place = "profile";
  side.profile = &measured.profile;
  side.split = &measured.split;
  return side;
}

TEST(Predict, OverlappingIntervalsCannotTell) {
  const Measured here = measured(1);
  const Prediction same = predict(side_of(here, 256, 64), side_of(here, 256, 64));
  for (const RuleAnswer& rule : same.rules)
    EXPECT_EQ(rule.slower, Slower::kCannotTell) << rule.name;
  const Prediction clear = predict(side_of(here, 256, 128), side_of(here, 256, 16));
  for (const RuleAnswer& rule : clear.rules) EXPECT_EQ(rule.slower, Slower::kA) << rule.name;
}

TEST(Predict, S174_UnequalConditionsAreListedAndOutputLengthAloneRefuses) {
  const Measured here = measured(1);
  Measured there = measured(2, "llama.cpp");
  there.profile.conditions.concurrency = 8;
  there.profile.conditions.cache = "reused prompts";
  const Prediction prediction = predict(side_of(here, 256, 128), side_of(there, 256, 16));
  EXPECT_EQ(prediction.rules[0].state, RuleState::kRefuses);
  const auto names = [&](std::string_view word) {
    for (const std::string& reason : prediction.rules[0].reasons) {
      if (reason.find(word) != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_TRUE(names("llama.cpp"));
  EXPECT_TRUE(names("reused prompts"));
  EXPECT_TRUE(names("8"));
  EXPECT_EQ(prediction.rules[2].state, RuleState::kAnswers);  // the fits carry their own conditions
}

TEST(Predict, PromptsOfOtherLengthsAreOutsideTheFence) {
  const Measured here = measured(1);
  const Prediction prediction = predict(side_of(here, 2000, 16), side_of(here, 100, 64));
  EXPECT_EQ(prediction.rules[0].state, RuleState::kRefuses);
  ASSERT_EQ(prediction.rules[0].reasons.size(), 1u);
  EXPECT_NE(prediction.rules[0].reasons[0].find("2000 / 100"), std::string::npos);
}

TEST(Score, TheFullFitIsRightWhereItDecidesAndItsIntervalsCover) {
  int64_t decided = 0, right = 0, n = 0, covered = 0, total_decided = 0, total_right = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Measured here = measured(seed + 20);
    std::vector<RequestRecord> records;
    for (const Planned& planned : plan_score(here.split, 60, seed)) {
      records.push_back(simulated({}, planned.arm, planned.prompt, planned.output, seed + 999,
                                  static_cast<int64_t>(records.size())));
      records.back().asked.label = planned.label;
      records.back().asked.repetition = planned.repetition;
    }
    const Score score = conclude_score(here.profile, here.split, records, seed);
    ASSERT_EQ(score.pairs.size(), 60u);
    for (const RuleScore& rule : score.rules) {
      EXPECT_EQ(rule.decided + rule.abstained + rule.refused, 60);
      if (rule.name == "full fit") decided += rule.decided, right += rule.right;
      if (rule.name == "total tokens") total_decided += rule.decided, total_right += rule.right;
    }
    n += score.intervals;
    covered += score.covered;
    EXPECT_GT(score.r2_inside.value, score.r2_overall.value);
  }
  EXPECT_GE(right * 100, decided * 95);
  EXPECT_GE(decided, 400);  // of 600: it may not hide in abstaining
  EXPECT_GE(covered * 100, n * 90);
  EXPECT_LE(covered * 100, n * 99);
  EXPECT_LT(total_right * decided, right * total_decided);  // total tokens are right less often
}

TEST(Score, HalfOfThePairsAreInsideTheFence) {
  const Measured here = measured(1);
  const auto plan = plan_score(here.split, 40, 3);
  ASSERT_EQ(plan.size(), 80u);
  int inside = 0;
  for (size_t i = 0; i < plan.size(); i += 2) {
    EXPECT_EQ(plan[i].repetition, plan[i + 1].repetition);
    Side a = side_of(here, static_cast<double>(plan[i].prompt), 1);
    Side b = side_of(here, static_cast<double>(plan[i + 1].prompt), 2);
    inside += outside_fence(a, b).empty();
  }
  EXPECT_GE(inside, 20);
}

TEST(Shapes, AreReadStrictly) {
  const auto shape = parse_shape("20000,50@profile.json");
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->shape.prompt, 20'000);
  EXPECT_EQ(shape->shape.output, 50);
  EXPECT_EQ(shape->name, "profile.json");
  for (const char* text : {"", "5", "5,", ",5", "5,0", "-1,5", "5,5@", "5,5x", "5.5,5", "1e3,5"}) {
    EXPECT_FALSE(parse_shape(text)) << text;
  }
}

}  // namespace
}  // namespace pawl::lab
