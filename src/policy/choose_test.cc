// SPDX-License-Identifier: Apache-2.0
// What choose promises as a whole, with the cases of ../shared/cases by their ids. Single stages:
// stages_test.cc.
#include "policy/choose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>

#include "policy/explain.h"
#include "policy/test_rows.h"

namespace pawl::policy {
namespace {

using base::TokenId;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Choice choose_at(const std::vector<float>& row, const Policy& policy, uint64_t position,
                 Scratch& scratch) {
  const History history(policy);
  return choose({.row = row, .policy = policy, .history = history, .draw = {policy.seed, position}},
                scratch);
}

TokenId id_at(const std::vector<float>& row, const Policy& policy, uint64_t position) {
  Scratch scratch;
  return choose_at(row, policy, position, scratch).id;
}

// Text of a sequence: the draws of 16 positions from one flat row.
std::vector<TokenId> text(uint64_t seed) {
  const std::vector<float> row = normal_row(1000, 0.5, 77);
  Policy policy;
  policy.seed = seed;
  std::vector<TokenId> ids;
  for (uint64_t position = 0; position < 16; ++position)
    ids.push_back(id_at(row, policy, position));
  return ids;
}

// Pearson's statistic of `draws` draws; cells of an expectation below 5 are put together.
double chi_square(const std::vector<float>& row, const Policy& policy, const std::vector<double>& p,
                  int draws, int& degrees) {
  Scratch scratch;
  std::vector<int> seen(row.size());
  for (int i = 0; i < draws; ++i)
    ++seen[static_cast<size_t>(choose_at(row, policy, i, scratch).id)];
  double statistic = 0, rest_expected = 0, rest_seen = 0;
  degrees = -1;
  const auto add = [&](double observed, double expected) {
    statistic += (observed - expected) * (observed - expected) / expected;
    ++degrees;
  };
  for (size_t i = 0; i < row.size(); ++i) {
    if (p[i] * draws >= 5) {
      add(seen[i], p[i] * draws);
    } else {
      rest_expected += p[i] * draws;
      rest_seen += seen[i];
    }
  }
  if (rest_expected >= 5) add(rest_seen, rest_expected);
  return statistic;
}

std::vector<double> softmax(const std::vector<float>& row, double temperature) {
  double largest = -1e300, total = 0;
  for (const float x : row) largest = std::max(largest, x / temperature);
  std::vector<double> p;
  for (const float x : row) p.push_back(std::exp(x / temperature - largest));
  for (const double x : p) total += x;
  for (double& x : p) x /= total;
  return p;
}

// The chi-square value that `degrees` exceed with a probability of 1e-4 (Wilson and Hilferty 1931).
double chi_square_limit(int degrees) {
  const double spread = 2.0 / (9 * degrees);
  return degrees * std::pow(1 - spread + 3.719 * std::sqrt(spread), 3);
}

TEST(Choose, DrawsFollowTheSoftmaxByChiSquareOver100000Draws) {
  for (const size_t size : {size_t{2}, size_t{64}, size_t{1000}}) {
    for (const double temperature : {0.7, 1.0}) {
      const std::vector<float> row = normal_row(size, 2, size);
      Policy policy;
      policy.temperature = temperature;
      policy.seed = 11;
      int degrees = 0;
      const double statistic = chi_square(row, policy, softmax(row, temperature), 100000, degrees);
      EXPECT_LT(statistic, chi_square_limit(degrees)) << size << " at " << temperature;
      EXPECT_TRUE(degrees < 30 || statistic > degrees / 2.0);  // better than chance is wrong too
    }
  }
}

TEST(Choose, DrawsAfterACutFollowTheSoftmaxOfWhatIsLeft) {
  std::vector<float> row = normal_row(300, 2, 9);
  Policy policy;
  policy.top_k = 20;
  std::vector<float> sorted = row;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  std::vector<float> left = row;
  for (float& x : left) {
    if (x < sorted[19]) x = -kInfinity;
  }
  int degrees = 0;
  const double statistic = chi_square(row, policy, softmax(left, 1), 100000, degrees);
  EXPECT_LT(statistic, chi_square_limit(degrees));
}

// A test that could not fail would be no test: the same draws against another temperature's
// probabilities.
TEST(Choose, TheChiSquareTestSeesAWrongTemperature) {
  const std::vector<float> row = normal_row(50, 2, 50);
  Policy policy;
  int degrees = 0;
  const double statistic = chi_square(row, policy, softmax(row, 1.05), 100000, degrees);
  EXPECT_GT(statistic, chi_square_limit(degrees));
}

TEST(Choose, S014_TheSeedDecidesAndNothingElse) {
  std::set<std::vector<TokenId>> texts;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<TokenId> first = text(seed);
    EXPECT_EQ(first, text(seed));
    texts.insert(first);
  }
  EXPECT_EQ(texts.size(), 20u);  // 15 are asked for; equal texts have odds of about 1e-40
}

TEST(Choose, S015_ADrawDependsOnItsPositionAndNotOnEarlierCalls) {
  const std::vector<float> row = normal_row(1000, 1, 3);
  const std::vector<float> other = normal_row(5000, 3, 4);
  Policy policy;
  policy.temperature = 0.8;
  policy.seed = 7;
  Policy busy = policy;
  busy.top_p = 0.9;
  busy.typical_p = 0.9;
  busy.top_logprobs = 50;
  Scratch used;
  for (uint64_t position = 0; position < 50; ++position) {
    const TokenId alone = id_at(row, policy, position);
    choose_at(other, busy, position, used);
    EXPECT_EQ(choose_at(row, policy, position, used).id, alone) << position;
  }
}

TEST(Choose, S012_TemperatureZeroIsTheHighestLogitAndTheLowestIdOnATie) {
  std::vector<float> row = normal_row(2000, 1, 21);
  row[700] = row[701] = row[1999] = 9;
  Policy greedy;
  greedy.temperature = 0;
  for (uint64_t position = 0; position < 100; ++position)
    EXPECT_EQ(id_at(row, greedy, position), 700);
  for (const double temperature : {1e-9, 0.5, 1.0, 100.0}) {
    Policy one;
    one.top_k = 1;
    one.temperature = temperature;
    for (uint64_t position = 0; position < 20; ++position)
      EXPECT_EQ(id_at(row, one, position), 700);
  }
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<float> random = normal_row(1 + seed * 37, 3, seed);
    const auto argmax =
        std::max_element(random.begin(), random.end()) - random.begin();  // the first of equals
    EXPECT_EQ(id_at(random, greedy, seed), argmax);
  }
}

TEST(Choose, S012_NoCutAndNoChanceActsAtTemperatureZero) {
  const std::vector<float> row = normal_row(500, 2, 22);
  const auto argmax = std::max_element(row.begin(), row.end()) - row.begin();
  Policy policy;
  policy.temperature = 0;
  policy.typical_p = 0.1;
  policy.xtc_probability = 1;
  policy.xtc_threshold = 0.01;
  policy.dynatemp_range = 5;
  for (uint64_t position = 0; position < 20; ++position)
    EXPECT_EQ(id_at(row, policy, position), argmax);
}

TEST(Choose, TinyTemperaturesAreAsGoodAsGreedy) {
  const std::vector<float> row = normal_row(500, 5, 23);
  const auto argmax = std::max_element(row.begin(), row.end()) - row.begin();
  for (const double temperature :
       {1e-8, 1e-38, 1e-300, std::numeric_limits<double>::denorm_min()}) {
    Policy policy;
    policy.temperature = temperature;
    ASSERT_TRUE(validate(policy).ok());
    EXPECT_EQ(id_at(row, policy, 5), argmax) << temperature;
  }
}

TEST(Choose, TopPZeroKeepsTheMostProbableOnly) {
  const std::vector<float> row = normal_row(500, 0.1, 24);
  const auto argmax = std::max_element(row.begin(), row.end()) - row.begin();
  for (const char* knob : {"top_p", "min_p"}) {
    Policy policy;
    ASSERT_TRUE(set_knob(policy, knob, std::string(knob) == "top_p" ? 0 : 1).ok());
    for (uint64_t position = 0; position < 20; ++position)
      EXPECT_EQ(id_at(row, policy, position), argmax);
  }
}

// A chain model that repeats a cycle, as rows: after token t, t + 1 of the cycle has the highest
// logit.
std::vector<TokenId> continue_cycle(const Policy& policy, const std::vector<TokenId>& prompt,
                                    int count) {
  constexpr int kCycle = 5;
  History history(policy, prompt);
  Scratch scratch;
  TokenId last = prompt.back();
  std::vector<TokenId> out;
  for (int i = 0; i < count; ++i) {
    std::vector<float> row(10, 0.0f);
    row[static_cast<size_t>((last + 1) % kCycle)] = 5;
    row[8] = 4;
    const Choice choice = choose({.row = row,
                                  .policy = policy,
                                  .history = history,
                                  .draw = {0, static_cast<uint64_t>(prompt.size()) + i}},
                                 scratch);
    history.accept(choice);
    last = choice.id;
    out.push_back(last);
  }
  return out;
}

TEST(Choose, S017_DefaultsRepeatACycleExactlyAndDryBreaksItAtTemperatureZero) {
  const std::vector<TokenId> prompt = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
  Policy policy;
  policy.temperature = 0;
  const std::vector<TokenId> cycle = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
  EXPECT_EQ(continue_cycle(policy, prompt, 15), cycle);
  policy.dry_multiplier = 1;
  EXPECT_EQ(continue_cycle(policy, prompt, 1),
            std::vector<TokenId>{8});  // the window covers the prompt
  policy.dry_multiplier = 0;
  policy.presence_penalty = 2;
  EXPECT_EQ(continue_cycle(policy, prompt, 1), std::vector<TokenId>{8});
}

TEST(Choose, S018_EndTokensComeAsSoonAsMinTokensAreGenerated) {
  const std::vector<TokenId> end_ids = {3};
  std::vector<float> row(10, 0.0f);
  row[3] = 10;  // wants to end at every step
  row[6] = 1;
  for (const int32_t min_tokens : {0, 1, 4, 10}) {
    Policy policy;
    policy.temperature = 0;
    policy.min_tokens = min_tokens;
    History history(policy, std::vector<TokenId>(50, 1));
    Scratch scratch;
    for (int step = 0; step < 12; ++step) {
      const Choice choice = choose({.row = row,
                                    .policy = policy,
                                    .history = history,
                                    .draw = {0, static_cast<uint64_t>(step)},
                                    .end_ids = end_ids},
                                   scratch);
      EXPECT_EQ(choice.id, step < min_tokens ? 6 : 3) << min_tokens << ", step " << step;
      history.accept(choice);
    }
  }
}

TEST(Choose, S019_OnlyEndTokensAreMaskedAndEveryOtherLogitKeepsItsBits) {
  std::vector<float> row = normal_row(777, 3, 31);
  const std::vector<TokenId> end_ids = {5, 300};
  row.back() = 50;  // the path goes through the last id
  row[5] = 60;
  Policy policy;
  policy.ignore_eos = true;
  policy.temperature = 0;
  const History history(policy);
  Scratch scratch;
  const Situation situation{
      .row = row, .policy = policy, .history = history, .draw = {}, .end_ids = end_ids};
  EXPECT_EQ(choose(situation, scratch).id, 776);

  policy.temperature = 1;
  const Explanation explanation = explain(situation, 777, scratch);
  ASSERT_EQ(explanation.stages.size(), 2u);
  EXPECT_EQ(explanation.stages[1].name, "end_tokens");
  EXPECT_EQ(explanation.stages[1].kept, 775);
  for (const StageEffect::Entry& entry : explanation.stages[1].top) {
    EXPECT_EQ(std::memcmp(&entry.logit, &row[static_cast<size_t>(entry.id)], sizeof(float)), 0)
        << entry.id;
    EXPECT_NE(entry.id, 5);
    EXPECT_NE(entry.id, 300);
  }
}

TEST(Choose, TheRowIsNeverChanged) {
  const std::vector<float> row = normal_row(1000, 2, 41);
  const std::vector<float> before = row;
  Policy policy;
  policy.logit_bias = {{3, 50}, {4, -50}};
  policy.banned = {7};
  policy.temperature = 0.7;
  policy.top_k = 50;
  policy.top_p = 0.9;
  Scratch scratch;
  choose_at(row, policy, 0, scratch);
  EXPECT_EQ(std::memcmp(row.data(), before.data(), row.size() * sizeof(float)), 0);
}

TEST(Choose, KnobsAtTheirNeutralValueChangeNoDraw) {
  const std::vector<float> row = normal_row(1000, 2, 42);
  Policy written;  // every number set by hand to what the table calls neutral
  for (const Knob& knob : knobs()) ASSERT_TRUE(set_knob(written, knob.name, knob.standard).ok());
  written.samplers.assign(default_samplers().begin(), default_samplers().end());
  Policy loose;  // cuts that cut nothing
  loose.top_k = 1000;
  loose.min_p = 1e-30;
  const TokenMask everything(1000, true);
  for (uint64_t position = 0; position < 200; ++position) {
    const TokenId id = id_at(row, Policy{}, position);
    EXPECT_EQ(id_at(row, written, position), id);
    EXPECT_EQ(id_at(row, loose, position), id);
    Scratch scratch;
    const Policy policy;
    const History history(policy);
    EXPECT_EQ(choose({.row = row,
                      .policy = policy,
                      .history = history,
                      .draw = {0, position},
                      .mask = &everything},
                     scratch)
                  .id,
              id);
  }
}

TEST(Choose, BiasBansAndMaskDecideWhatCanBeChosen) {
  const std::vector<float> row = normal_row(200, 1, 43);
  Scratch scratch;
  Policy policy;
  policy.logit_bias = {{199, 100}};
  EXPECT_EQ(id_at(row, policy, 0), 199);
  policy.banned = {199};
  EXPECT_NE(id_at(row, policy, 0), 199);
  policy.allowed = {20, 10, 20, 199};
  std::set<TokenId> seen;
  for (uint64_t position = 0; position < 100; ++position) seen.insert(id_at(row, policy, position));
  EXPECT_EQ(seen, (std::set<TokenId>{10, 20}));
  TokenMask mask(200);
  mask.allow(20);
  mask.allow(30);
  const History history(policy);
  const Situation situation{
      .row = row, .policy = policy, .history = history, .draw = {}, .mask = &mask};
  EXPECT_EQ(choose(situation, scratch).id, 20);
  mask.forbid(20);
  EXPECT_EQ(choose(situation, scratch).id, kNoToken);
}

TEST(Choose, ARowThatHoldsNoNumbersGivesNoTokenAndAnInfiniteOneItsFirst) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<Policy> policies(9);
  policies[1].temperature = 0;
  policies[2].top_k = 3;
  policies[3].top_p = 0.5;
  policies[4].typical_p = 0.5;
  policies[5].top_n_sigma = 1;
  policies[6].mirostat = 1;
  policies[7].mirostat = 2;
  policies[8].dynatemp_range = 0.5;
  for (size_t i = 0; i < policies.size(); ++i) {
    EXPECT_EQ(id_at(std::vector<float>(100, nan), policies[i], 0), kNoToken) << i;
    EXPECT_EQ(id_at(std::vector<float>(100, -kInfinity), policies[i], 0), kNoToken) << i;
    EXPECT_EQ(id_at({}, policies[i], 0), kNoToken) << i;
    std::vector<float> row(100, nan);
    row[40] = 1;
    EXPECT_EQ(id_at(row, policies[i], 0), 40) << i;
    row[60] = row[70] = kInfinity;
    EXPECT_EQ(id_at(row, policies[i], 0), 60) << i;
    std::vector<float> huge(100, 3e38f);
    huge[7] = -3e38f;
    const TokenId id = id_at(huge, policies[i], 0);
    EXPECT_TRUE(id >= 0 && id != 7) << i;
  }
}

TEST(Choose, LogprobsAreThoseOfTheUntouchedRow) {
  const std::vector<float> row = normal_row(1000, 4, 44);
  const std::vector<double> p = softmax(row, 1);
  std::vector<TokenId> order(row.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<TokenId>(i);
  std::sort(order.begin(), order.end(), [&](TokenId a, TokenId b) { return row[a] > row[b]; });
  Policy policy;
  policy.temperature = 0.3;
  policy.top_k = 5;
  policy.banned = {order[0]};
  policy.top_logprobs = 20;
  Scratch scratch;
  const Choice choice = choose_at(row, policy, 3, scratch);
  EXPECT_NEAR(choice.logprob, std::log(p[static_cast<size_t>(choice.id)]), 1e-9);
  ASSERT_EQ(choice.top.size(), 20u);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(choice.top[i].id, order[i]);
    EXPECT_NEAR(choice.top[i].logprob, std::log(p[static_cast<size_t>(order[i])]), 1e-9);
  }
  policy.top_logprobs = 0;
  EXPECT_TRUE(choose_at(row, policy, 3, scratch).top.empty());
}

// The draw looks at few candidates before it divides by the temperature; explain divides all of
// them first.
TEST(Choose, ExplainEndsInTheSameChoice) {
  const std::vector<float> row = normal_row(3000, 3, 45);
  Policy policy;
  policy.temperature = 0.83;
  Policy cut = policy;
  cut.top_p = 0.95;
  cut.min_p = 0.01;
  cut.samplers = {Stage::kTemperature, Stage::kTopP, Stage::kMinP};
  Scratch scratch;
  for (const Policy& each : {policy, cut}) {
    const History history(each);
    for (uint64_t position = 0; position < 300; ++position) {
      const Situation situation{
          .row = row, .policy = each, .history = history, .draw = {5, position}};
      EXPECT_EQ(explain(situation, 3, scratch).choice.id, choose(situation, scratch).id);
    }
  }
}

TEST(Choose, ExplainNamesTheStagesThatRanInTheirOrder) {
  const std::vector<float> row = normal_row(100, 3, 46);
  Policy policy;
  policy.logit_bias = {{1, 2}};
  policy.temperature = 0.5;
  policy.top_k = 10;
  policy.samplers = {Stage::kTemperature, Stage::kTopK};
  const History history(policy);
  Scratch scratch;
  const Explanation explanation =
      explain({.row = row, .policy = policy, .history = history, .draw = {}}, 5, scratch);
  std::string names;
  for (const StageEffect& stage : explanation.stages) {
    names += std::string(stage.name) + ":" + std::to_string(stage.kept) + " ";
    EXPECT_EQ(stage.top.size(), 5u);
  }
  EXPECT_EQ(names, "logits:100 logit_bias:100 temperature:100 top_k:10 ");
  EXPECT_EQ(explanation.stages[0].top[0].logit, *std::max_element(row.begin(), row.end()));
}

}  // namespace
}  // namespace pawl::policy
