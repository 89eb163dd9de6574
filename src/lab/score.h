// SPDX-License-Identifier: Apache-2.0
// Pairs of requests sent and timed, to see how often each rule of predict.h was right.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "lab/plan.h"
#include "lab/predict.h"

namespace pawl::lab {

// `pairs` pairs within the lengths of `split`, drawn evenly over their logarithms. Every other pair
// is inside the fence: prompts near the geometric middle, less than a factor of two apart. The arms
// are "pair", labels "7a" and "7b"; the order is random.
std::vector<Planned> plan_score(const Split& split, int64_t pairs, uint64_t seed);

struct RuleScore {
  std::string name;
  int64_t decided = 0, right = 0;  // pairs
  int64_t abstained = 0;           // "cannot tell"
  int64_t refused = 0;
};

struct ScoredPair {
  Point a, b;
  Prediction prediction;
};

struct Score {
  std::vector<ScoredPair> pairs;       // both requests succeeded
  int64_t failed = 0;                  // pairs without both
  std::vector<RuleScore> rules;        // those of predict.h, and "total tokens" as a baseline
  int64_t intervals = 0, covered = 0;  // single requests, 95 %
  double median_error = 0;             // of |measured / predicted − 1|
  // Share of the variance of the time that output length alone explains.
  Estimate r2_inside;   // of the requests inside the fence
  Estimate r2_overall;  // of all
  bool holds = false;   // the full fit is right in 95 % of the pairs that it decides
};
Score conclude_score(const Profile& profile, const Split& split,
                     std::span<const RequestRecord> records, uint64_t seed);

base::Json score_json(const Score& score, const Conditions& conditions);

}  // namespace pawl::lab
