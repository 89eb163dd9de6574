// SPDX-License-Identifier: Apache-2.0
// The stages for which there is no golden data, against hand computation and small implementations
// of the published definitions, written apart from the code.
#include "policy/stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "policy/choose.h"
#include "policy/explain.h"
#include "policy/test_rows.h"

namespace pawl::policy {
namespace {

using base::TokenId;
using Ids = std::vector<TokenId>;

// What the last stage left: ids in ascending order, with their logits.
std::map<TokenId, float> left_by(const std::vector<float>& row, const Policy& policy,
                                 const History& history, uint64_t position = 0) {
  EXPECT_TRUE(validate(policy).ok());
  Scratch scratch;
  const Explanation explanation =
      explain({.row = row, .policy = policy, .history = history, .draw = {policy.seed, position}},
              static_cast<int32_t>(row.size()), scratch);
  std::map<TokenId, float> left;
  for (const StageEffect::Entry& entry : explanation.stages.back().top)
    left[entry.id] = entry.logit;
  return left;
}

Ids ids_of(const std::map<TokenId, float>& left) {
  Ids ids;
  for (const auto& entry : left) ids.push_back(entry.first);
  return ids;
}

// Logits ln(p): the softmax is p itself.
std::vector<float> log_row(const std::vector<double>& p) {
  std::vector<float> row;
  for (const double x : p) row.push_back(static_cast<float>(std::log(x)));
  return row;
}

std::vector<double> softmax(const std::vector<float>& row) {
  std::vector<double> p;
  double total = 0;
  for (const float x : row) total += std::exp(static_cast<double>(x));
  for (const float x : row) p.push_back(std::exp(static_cast<double>(x)) / total);
  return p;
}

// Logits 1 … 5: the largest is 5, the standard deviation sqrt(2) = 1.414.
TEST(TopNSigma, KeepsWhatIsWithinNStandardDeviationsOfTheLargest) {
  const std::vector<float> row = {1, 5, 3, 2, 4};
  Policy policy;
  policy.top_n_sigma = 1;  // from 3.586
  EXPECT_EQ(ids_of(left_by(row, policy, History(policy))), (Ids{1, 4}));
  policy.top_n_sigma = 1.5;  // from 2.879
  EXPECT_EQ(ids_of(left_by(row, policy, History(policy))), (Ids{1, 2, 4}));
  policy.top_n_sigma = 0.5;  // from 4.293
  EXPECT_EQ(ids_of(left_by(row, policy, History(policy))), (Ids{1}));
  policy.banned = {1};  // of 1, 2, 3, 4: deviation sqrt(1.25) = 1.118, from 3.441
  EXPECT_EQ(ids_of(left_by(row, policy, History(policy))), (Ids{4}));
}

TEST(Xtc, LeavesOutAllTopChoicesButTheLeast) {
  const std::vector<float> row = log_row({0.4, 0.05, 0.3, 0.15, 0.1});
  Policy policy;
  policy.xtc_probability = 1;
  policy.xtc_threshold = 0.12;  // 0, 2, 3 are above; 3 is the least
  EXPECT_EQ(ids_of(left_by(row, policy, History(policy))), (Ids{1, 3, 4}));
  policy.xtc_threshold = 0.35;  // a single top choice stays
  EXPECT_EQ(ids_of(left_by(row, policy, History(policy))), (Ids{0, 1, 2, 3, 4}));
  policy.xtc_threshold = 0;  // all are above; the least probable stays
  EXPECT_EQ(ids_of(left_by(row, policy, History(policy))), (Ids{1}));
  policy.xtc_threshold = 0.51;  // two tokens cannot both have more than half
  EXPECT_FALSE(is_active(Stage::kXtc, policy));
}

TEST(Xtc, ActsInTheGivenShareOfPositions) {
  const std::vector<float> row = log_row({0.5, 0.4, 0.1});
  Policy policy;
  policy.xtc_probability = 0.3;
  policy.xtc_threshold = 0.2;
  int acted = 0;
  for (uint64_t position = 0; position < 4000; ++position) {
    acted += left_by(row, policy, History(policy), position).size() == 2;
  }
  EXPECT_NEAR(acted / 4000.0, 0.3, 4 * std::sqrt(0.3 * 0.7 / 4000));
}

// temperature 1, range 0.5: from 0.5 at no entropy to 1.5 at the entropy of a flat row.
TEST(DynamicTemperature, MovesWithTheNormalisedEntropy) {
  const std::vector<double> p = {0.5, 0.25, 0.125, 0.125};
  const std::vector<float> row = log_row(p);
  Policy policy;
  policy.dynatemp_range = 0.5;
  // H = 1.75 bits of at most 2: 0.875. t = 0.5 + 1 * 0.875
  for (const auto& [id, logit] : left_by(row, policy, History(policy))) {
    EXPECT_NEAR(logit, row[static_cast<size_t>(id)] / 1.375, 1e-6);
  }
  policy.dynatemp_exponent = 2;  // t = 0.5 + 0.875^2 = 1.265625
  policy.temperature = 2;        // low 1.5: t = 2.265625
  for (const auto& [id, logit] : left_by(row, policy, History(policy))) {
    EXPECT_NEAR(logit, row[static_cast<size_t>(id)] / 2.265625, 1e-6);
  }
  // The range reaches below 0: low is 0. Flat row: t = high.
  policy.dynatemp_range = 50;
  const std::vector<float> flat(8, 3.0f);
  for (const auto& [id, logit] : left_by(flat, policy, History(policy)))
    EXPECT_NEAR(logit, 3.0 / 52, 1e-6);
}

Policy dry_policy() {
  Policy policy;
  policy.dry_multiplier = 0.8;
  policy.dry_base = 1.75;
  policy.dry_allowed_length = 2;
  return policy;
}

// What DRY takes from each id of a row of zeros.
std::map<TokenId, double> dry_penalties(const Policy& policy, const Ids& ids) {
  std::map<TokenId, double> penalties;
  for (const auto& [id, logit] :
       left_by(std::vector<float>(12, 0.0f), policy, History(policy, ids))) {
    if (logit != 0) penalties[id] = -logit;
  }
  return penalties;
}

// Straight from the definition, cubic: for every earlier place, how far back does it agree with the
// end?
std::map<TokenId, double> dry_by_hand(const Policy& policy, Ids ids) {
  const int last_n = policy.dry_penalty_last_n;
  if (last_n >= 0 && static_cast<size_t>(last_n) < ids.size())
    ids.erase(ids.begin(), ids.end() - last_n);
  const int count = static_cast<int>(ids.size());
  int reach = count;  // tokens after the last breaker
  for (const Ids& breaker : policy.dry_sequence_breakers) {
    for (int end = static_cast<int>(breaker.size()); end <= count; ++end) {
      if (Ids(ids.begin() + end - breaker.size(), ids.begin() + end) == breaker) {
        reach = std::min(reach, count - end);
      }
    }
  }
  std::map<TokenId, int> longest;
  for (int next = 1; next < count; ++next) {
    int length = 0;
    while (length < reach && length < next && ids[next - 1 - length] == ids[count - 1 - length])
      ++length;
    longest[ids[next]] = std::max(longest[ids[next]], length);
  }
  std::map<TokenId, double> penalties;
  for (const auto& [id, length] : longest) {
    bool breaker = false;
    for (const Ids& each : policy.dry_sequence_breakers) breaker = breaker || each == Ids{id};
    if (length < policy.dry_allowed_length || breaker) continue;
    penalties[id] =
        policy.dry_multiplier * std::pow(policy.dry_base, length - policy.dry_allowed_length);
  }
  return penalties;
}

TEST(Dry, PenaltyGrowsWithTheLengthOfTheRepetition) {
  const Policy policy = dry_policy();
  // "1 2 3 4 … 1 2 3": after 1 2 3 came 4, a repetition of length 3: 0.8 * 1.75^1
  auto penalties = dry_penalties(policy, {1, 2, 3, 4, 9, 1, 2, 3});
  ASSERT_EQ(penalties.size(), 1u);
  EXPECT_NEAR(penalties[4], 0.8 * 1.75, 1e-6);
  // Length 2 is the shortest that counts: 0.8 * 1.75^0
  penalties = dry_penalties(policy, {7, 2, 3, 4, 9, 1, 2, 3});
  ASSERT_EQ(penalties.size(), 1u);
  EXPECT_NEAR(penalties[4], 0.8, 1e-6);
  EXPECT_TRUE(dry_penalties(policy, {7, 8, 3, 4, 9, 1, 2, 3}).empty());
  EXPECT_TRUE(dry_penalties(policy, {}).empty());
  EXPECT_TRUE(dry_penalties(policy, {1}).empty());
}

TEST(Dry, BreakersEndARepetition) {
  Policy policy = dry_policy();
  policy.dry_sequence_breakers = {{2}};  // one token after the breaker: too short
  EXPECT_TRUE(dry_penalties(policy, {1, 2, 3, 4, 9, 1, 2, 3}).empty());
  policy.dry_sequence_breakers = {{1, 2}, {5, 5}};
  EXPECT_TRUE(dry_penalties(policy, {1, 2, 3, 4, 9, 1, 2, 3}).empty());
  policy.dry_sequence_breakers = {{9, 1}};  // two tokens after it: length 2
  EXPECT_NEAR(dry_penalties(policy, {1, 2, 3, 4, 9, 1, 2, 3})[4], 0.8, 1e-6);
  policy.dry_sequence_breakers = {{4}};  // the next token is a breaker itself
  EXPECT_TRUE(dry_penalties(policy, {1, 2, 3, 4, 9, 1, 2, 3}).empty());
}

TEST(Dry, AgreesWithTheDefinitionOnRandomTexts) {
  for (uint64_t trial = 0; trial < 500; ++trial) {
    Policy policy = dry_policy();
    policy.dry_allowed_length = 1 + static_cast<int32_t>(trial % 3);
    policy.dry_penalty_last_n = trial % 4 == 0 ? 10 : -1;
    if (trial % 2 == 1) policy.dry_sequence_breakers = {{0}, {1, 2}, {2, 1, 1}};
    Ids ids;
    const size_t size = 1 + trial % 60;
    for (size_t i = 0; i < size; ++i)
      ids.push_back(static_cast<TokenId>(base::uniform(trial, i, 0) * 3));
    const auto expected = dry_by_hand(policy, ids);
    const auto got = dry_penalties(policy, ids);
    ASSERT_EQ(got.size(), expected.size()) << trial;
    for (const auto& [id, penalty] : expected) {
      ASSERT_TRUE(got.count(id)) << trial;
      EXPECT_NEAR(got.at(id) / penalty, 1, 1e-5) << trial;
    }
  }
}

TEST(Dry, OneTokenRepeated100000TimesTakesNoQuadraticTimeAndStaysFinite) {
  const Policy policy = dry_policy();
  const auto left = left_by(std::vector<float>(12, 0.0f), policy, History(policy, Ids(100000, 3)));
  EXPECT_EQ(left.size(), 12u);
  EXPECT_LT(left.at(3), -1e29);
}

// arXiv 2007.14966, algorithm 2: after the cut at surprise mu, mu moves by eta * (surprise - tau).
TEST(Mirostat, Version2CutsAtMuAndCorrectsIt) {
  const std::vector<double> p = {0.5, 0.25, 0.125, 0.0625, 0.0625};  // surprises 1, 2, 3, 4, 4 bits
  const std::vector<float> row = log_row(p);
  Policy policy;
  policy.mirostat = 2;
  policy.mirostat_tau = 1.25;  // mu starts at 2.5 bits: two tokens stay
  policy.mirostat_eta = 0.5;
  History history(policy);
  EXPECT_EQ(ids_of(left_by(row, policy, history)), (Ids{0, 1}));

  Scratch scratch;
  std::set<TokenId> seen;
  for (uint64_t position = 0; position < 50; ++position) {
    const Choice choice =
        choose({.row = row, .policy = policy, .history = history, .draw = {0, position}}, scratch);
    ASSERT_TRUE(choice.id == 0 || choice.id == 1);
    const double surprise = -std::log2(choice.id == 0 ? 2.0 / 3 : 1.0 / 3);  // among what was left
    EXPECT_NEAR(choice.mirostat_mu, 2.5 - 0.5 * (surprise - 1.25), 1e-6);
    seen.insert(choice.id);
  }
  EXPECT_EQ(seen.size(), 2u);

  Choice low;
  low.id = 0;
  low.mirostat_mu = -3;  // below every surprise: the most probable stays
  history.accept(low);
  EXPECT_EQ(ids_of(left_by(row, policy, history)), (Ids{0}));
}

// The paper's own steps, in the order of its algorithm 1.
size_t mirostat_1_by_hand(std::vector<double> p, double mu) {
  const double n = static_cast<double>(p.size());
  std::sort(p.begin(), p.end(), std::greater<>());
  double products = 0, squares = 0;
  for (size_t i = 0; i + 1 < std::min<size_t>(100, p.size()); ++i) {
    const double b = std::log(p[i] / p[i + 1]);
    const double t = std::log((i + 2.0) / (i + 1.0));
    products += b * t;
    squares += t * t;
  }
  const double s = products / squares;
  const double e = s - 1;
  const double k = std::pow(e * std::pow(2, mu) / (1 - std::pow(n, -e)), 1 / s);
  return static_cast<size_t>(std::clamp(std::floor(k), 1.0, n));
}

TEST(Mirostat, Version1KeepsThePapersK) {
  for (const double deviation : {0.5, 1.0, 2.0, 4.0}) {
    for (const double tau : {0.5, 1.5, 3.0, 5.0}) {
      const std::vector<float> row = normal_row(500, deviation, 61);
      Policy policy;
      policy.mirostat = 1;
      policy.mirostat_tau = tau;
      EXPECT_EQ(left_by(row, policy, History(policy)).size(),
                mirostat_1_by_hand(softmax(row), 2 * tau))
          << deviation << " " << tau;
    }
  }
}

TEST(Mirostat, HoldsTheSurpriseNearTauInTheLongRun) {
  const std::vector<float> row = normal_row(2000, 2, 62);
  for (const int32_t version : {1, 2}) {
    Policy policy;
    policy.mirostat = version;
    policy.mirostat_tau = 3;
    History history(policy);
    Scratch scratch;
    double sum = 0;
    for (uint64_t position = 0; position < 3000; ++position) {
      const double before = history.mirostat_mu();
      const Choice choice = choose(
          {.row = row, .policy = policy, .history = history, .draw = {9, position}}, scratch);
      history.accept(choice);
      sum += (before - choice.mirostat_mu) / policy.mirostat_eta + policy.mirostat_tau;
    }
    EXPECT_NEAR(sum / 3000, 3, 0.1) << "version " << version;
  }
}

TEST(Mirostat, ExtremeStatesEndInAChoice) {
  const std::vector<float> row = normal_row(100, 2, 63);
  for (const int32_t version : {1, 2}) {
    Policy policy;
    policy.mirostat = version;
    for (const double mu : {-1e6, -1.0, 0.0, 1e3, 1e6}) {
      History history(policy);
      Choice before;
      before.id = 0;
      before.mirostat_mu = mu;
      history.accept(before);
      Scratch scratch;
      const Choice choice =
          choose({.row = row, .policy = policy, .history = history, .draw = {}}, scratch);
      EXPECT_GE(choice.id, 0);
      EXPECT_TRUE(std::isfinite(choice.mirostat_mu));
    }
  }
}

// Every cut keeps the largest, whatever its knob says (typical_p may not: it keeps what is
// typical).
TEST(Cuts, KeepAtLeastOne) {
  const std::vector<float> row = normal_row(300, 3, 64);
  for (const Knob& knob : knobs()) {
    if (!knob.stage || *knob.stage == Stage::kMirostat) continue;
    for (const double value : {knob.minimum, knob.maximum, knob.minimum + 1e-12}) {
      Policy policy;
      if (!set_knob(policy, knob.name, value).ok()) continue;
      EXPECT_GE(left_by(row, policy, History(policy, Ids{1, 2, 1, 2})).size(), 1u)
          << knob.name << " " << value;
    }
  }
}

}  // namespace
}  // namespace pawl::policy
