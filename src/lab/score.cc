// SPDX-License-Identifier: Apache-2.0
#include "lab/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/rng.h"
#include "lab/stats.h"
#include "lab/sweep.h"

namespace pawl::lab {

using base::Json;

namespace {

constexpr std::string_view kPairArm = "pair";

int64_t log_uniform(const Interval& range, double u) {
  const double low = std::max(range.low, 1.0);
  return static_cast<int64_t>(std::round(low * std::pow(std::max(range.high, low) / low, u)));
}

// Share of the variance of y that a line in x explains.
double r2_of(std::span<const Sample> samples) {
  const auto n = static_cast<double>(samples.size());
  double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
  for (const Sample& sample : samples) mx += sample.x / n, my += sample.y / n;
  for (const Sample& sample : samples) {
    xx += (sample.x - mx) * (sample.x - mx);
    yy += (sample.y - my) * (sample.y - my);
    xy += (sample.x - mx) * (sample.y - my);
  }
  return xx > 0 && yy > 0 ? xy * xy / (xx * yy) : 0;
}

// Interval by resampling the requests.
Estimate r2_estimate(const std::vector<Sample>& samples, uint64_t seed) {
  if (samples.size() < 4) return {};
  std::vector<double> draws(kDefaultDraws);
  std::vector<Sample> drawn(samples.size());
  for (size_t draw = 0; draw < draws.size(); ++draw) {
    for (size_t i = 0; i < drawn.size(); ++i) {
      const double at = base::uniform(seed, draw, i) * static_cast<double>(samples.size());
      drawn[i] = samples[std::min(static_cast<size_t>(at), samples.size() - 1)];
    }
    draws[draw] = r2_of(drawn);
  }
  return {r2_of(samples), middle_of(draws)};
}

void count(RuleScore& score, RuleState state, Slower says, Slower truth) {
  if (state == RuleState::kRefuses) {
    ++score.refused;
  } else if (state == RuleState::kLacks || says == Slower::kCannotTell) {
    ++score.abstained;
  } else {
    ++score.decided;
    score.right += says == truth;
  }
}

void score_pair(const ScoredPair& pair, std::vector<RuleScore>& rules) {
  const Slower truth = pair.a.e2e_ms > pair.b.e2e_ms ? Slower::kA : Slower::kB;
  for (size_t i = 0; i < pair.prediction.rules.size(); ++i) {
    const RuleAnswer& answer = pair.prediction.rules[i];
    if (rules.size() <= i) rules.push_back({answer.name, 0, 0, 0, 0});
    count(rules[i], answer.state, answer.slower, truth);
  }
  const size_t last = pair.prediction.rules.size();
  if (rules.size() <= last) rules.push_back({"total tokens", 0, 0, 0, 0});
  const int64_t a = pair.a.prompt + pair.a.output, b = pair.b.prompt + pair.b.output;
  const Slower says = a == b ? Slower::kCannotTell : (a > b ? Slower::kA : Slower::kB);
  count(rules[last], RuleState::kAnswers, says, truth);
}

}  // namespace

std::vector<Planned> plan_score(const Split& split, int64_t pairs, uint64_t seed) {
  const Interval prompts = split.prompt_range(), outputs = split.output_range();
  const double middle = std::sqrt(std::max(prompts.low, 1.0) * prompts.high);
  const Interval similar{middle / 1.4, middle * 1.4};
  std::vector<Planned> plan;
  for (int64_t pair = 0; pair < pairs; ++pair) {
    for (const char side : {'a', 'b'}) {
      const uint64_t stream = side == 'a' ? 0 : 8;
      const auto position = static_cast<uint64_t>(pair);
      Planned planned;
      planned.arm = kPairArm;
      planned.label = fmt::format("{}{}", pair, side);
      planned.repetition = pair;
      planned.prompt =
          log_uniform(pair % 2 == 0 ? similar : prompts, base::uniform(seed, position, stream));
      planned.output = log_uniform({std::max(outputs.low, 2.0), outputs.high},
                                   base::uniform(seed, position, stream + 1));
      plan.push_back(planned);
    }
    if (base::uniform(seed, static_cast<uint64_t>(pair), 16) < 0.5) {
      std::swap(plan[plan.size() - 1], plan[plan.size() - 2]);
    }
  }
  return plan;
}

Score conclude_score(const Profile& profile, const Split& split,
                     std::span<const RequestRecord> records, uint64_t seed) {
  Score score;
  std::map<int64_t, std::map<char, Point>> pairs;
  for (const RequestRecord& record : records) {
    if (record.asked.arm != kPairArm || record.asked.label.empty()) continue;
    auto& sides = pairs[record.asked.repetition];
    if (auto point = point_of(record)) sides[record.asked.label.back()] = *std::move(point);
  }
  std::vector<Sample> inside, overall;
  std::vector<double> errors;
  for (auto& [number, sides] : pairs) {
    if (!sides.contains('a') || !sides.contains('b')) {
      ++score.failed;
      continue;
    }
    ScoredPair pair{sides['a'], sides['b'], {}};
    const auto side = [&](const Point& point) {
      Side made;
      made.shape = {static_cast<double>(point.prompt), static_cast<double>(point.output)};
      made.profile = &profile;
      made.split = &split;
      return made;
    };
    const Side a = side(pair.a), b = side(pair.b);
    pair.prediction = predict(a, b);
    const bool is_inside = number % 2 == 0;
    for (const auto& [point, estimate] : {std::pair(&pair.a, pair.prediction.rules.back().a_ms),
                                          std::pair(&pair.b, pair.prediction.rules.back().b_ms)}) {
      const Sample sample{static_cast<double>(point->output), point->e2e_ms};
      overall.push_back(sample);
      if (is_inside) inside.push_back(sample);
      if (!estimate) continue;
      ++score.intervals;
      score.covered +=
          estimate->interval.low <= point->e2e_ms && point->e2e_ms <= estimate->interval.high;
      errors.push_back(std::abs(point->e2e_ms / estimate->value - 1));
    }
    score_pair(pair, score.rules);
    score.pairs.push_back(std::move(pair));
  }
  score.median_error = errors.empty() ? 0 : median_of(errors);
  score.r2_inside = r2_estimate(inside, seed);
  score.r2_overall = r2_estimate(overall, seed + 1);
  for (const RuleScore& rule : score.rules) {
    if (rule.name == "full fit")
      score.holds = rule.decided > 0 && rule.right * 100 >= rule.decided * 95;
  }
  return score;
}

Json score_json(const Score& score, const Conditions& conditions) {
  Json json;
  json["kind"] = "score";
  json["conditions"] = conditions_json(conditions);
  json["pairs"] = static_cast<int64_t>(score.pairs.size());
  json["failed"] = score.failed;
  json["rules"] = Json::array();
  for (const RuleScore& rule : score.rules) {
    Json entry;
    entry["name"] = rule.name;
    entry["decided"] = rule.decided;
    entry["right"] = rule.right;
    entry["share_right"] =
        rule.decided > 0 ? Json(static_cast<double>(rule.right) / static_cast<double>(rule.decided))
                         : Json();
    entry["cannot_tell"] = rule.abstained;
    entry["refused"] = rule.refused;
    json["rules"].push_back(std::move(entry));
  }
  json["intervals"]["n"] = score.intervals;
  json["intervals"]["covered"] = score.covered;
  json["median_error"] = score.median_error;
  json["r2_output_length"]["inside_fence"] = estimate_json(score.r2_inside);
  json["r2_output_length"]["overall"] = estimate_json(score.r2_overall);
  json["holds"] = score.holds;
  json["measured"] = Json::array();  // prompt, output, measured ms, predicted ms, low, high
  for (const ScoredPair& pair : score.pairs) {
    for (const auto& [point, estimate] : {std::pair(&pair.a, pair.prediction.rules.back().a_ms),
                                          std::pair(&pair.b, pair.prediction.rules.back().b_ms)}) {
      if (!estimate) continue;
      json["measured"].push_back(Json::array_of(
          {Json(point->prompt), Json(point->output), Json(point->e2e_ms), Json(estimate->value),
           Json(estimate->interval.low), Json(estimate->interval.high)}));
    }
  }
  return json;
}

}  // namespace pawl::lab
