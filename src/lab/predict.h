// SPDX-License-Identifier: Apache-2.0
// Which of two requests takes longer, by three rules, each with the conditions that it needs:
//
//   output length    inside the fence only: one model, machine, load and sampling, similar prompts
//   tokens ÷ rate    across deployments, where the tail is what counts
//   full fit         start-up and tail
//
// A rule that is asked outside of its conditions refuses and names each of them; one whose
// intervals overlap cannot tell.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lab/compare.h"
#include "lab/conditions.h"
#include "lab/profile.h"
#include "lab/split.h"

namespace pawl::lab {

// A deployment as published, that is not here: sizes, or rates, or both.
struct Deployment {
  std::string name;
  std::string model, machine;               // shown, and compared by the fence
  std::optional<double> decode_tok_s;       // as published; else counted from the sizes
  std::optional<double> exchange_rate;      // prompt tokens for an output token, as published
  std::optional<double> parameters;         // active ones
  double weight_bits = 16;                  // of a parameter in memory
  double kv_bytes = 0;                      // of keys and values per token of context
  std::optional<double> read_GBps, TFLOPS;  // of all machines together
  Interval decode_share = {0.5, 0.9};       // of the bandwidth that decode reaches: assumed
  Interval prefill_share = {0.3, 0.7};      // of the arithmetic that prefill reaches: assumed
  double start_ms = 0;
};
// {"deployments": [{"name": …, …}]}: the members of Deployment, shares as [low, high]. Error
// kBadFile names the member.
base::Result<std::vector<Deployment>> parse_deployments(const base::Json& value);

// Times of a request there: the middle and the bounds that the assumed shares give. Nothing where
// neither a rate nor the sizes it follows from are known.
std::optional<Estimate> deployment_output_token_ms(const Deployment& deployment, double context);
std::optional<Estimate> deployment_prompt_token_ms(const Deployment& deployment);

// One request to be predicted, and where: at most one of both.
struct Side {
  Shape shape;
  std::string place;                       // the name behind "@"; may be empty
  const Profile* profile = nullptr;        // outlives the prediction
  const Split* split = nullptr;            // of the profile
  const Deployment* deployment = nullptr;  // outlives the prediction
};

enum class RuleState { kAnswers, kRefuses, kLacks };  // kLacks: what it needs is not given
struct RuleAnswer {
  std::string name;  // "output length", "tokens / rate", "full fit"
  RuleState state = RuleState::kLacks;
  Slower slower = Slower::kCannotTell;
  std::optional<Estimate> a_ms, b_ms;
  std::vector<std::string> reasons;  // of a refusal: one for each condition that differs
};

struct Prediction {
  std::vector<RuleAnswer> rules;   // in the order above
  std::vector<std::string> notes;  // extrapolation, conditions that are not known
  std::optional<double> flips_at;  // exchange rate, where both are at one place
  std::optional<Estimate> exchange;
};
Prediction predict(const Side& a, const Side& b);

// What differs between two sides, by name: conditions of their profiles, and prompts whose lengths
// differ by more than a factor of two.
std::vector<std::string> outside_fence(const Side& a, const Side& b);

base::Json prediction_json(const Side& a, const Side& b, const Prediction& prediction);

}  // namespace pawl::lab
