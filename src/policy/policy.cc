// SPDX-License-Identifier: Apache-2.0
#include "policy/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace pawl::policy {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr double kMaxInt = std::numeric_limits<int32_t>::max();
constexpr double kMaxBias = 100;

constexpr std::array<const char*, kStages> kStageNames = {
    "logit_bias", "bans",      "mask",  "end_tokens", "penalties", "dry",         "top_n_sigma",
    "top_k",      "typical_p", "top_p", "min_p",      "xtc",       "temperature", "mirostat"};

constexpr std::array kDefaultSamplers = {Stage::kPenalties, Stage::kDry,      Stage::kTopNSigma,
                                         Stage::kTopK,      Stage::kTypicalP, Stage::kTopP,
                                         Stage::kMinP,      Stage::kXtc,      Stage::kTemperature};

constexpr std::array kCuts = {Stage::kTopNSigma, Stage::kTopK, Stage::kTypicalP,
                              Stage::kTopP,      Stage::kMinP, Stage::kXtc};

// The table.
constexpr Knob kKnobs[] = {
    {"temperature", 0, 100, 1, &Policy::temperature, nullptr, Stage::kTemperature,
     "divides the logits; below 1 sharper, above 1 flatter. 0 is greedy: the highest logit after "
     "bias, bans, "
     "mask, penalties and dry, the lowest id on a tie; no cut and no chance acts"},
    {"dynatemp_range", 0, 100, 0, &Policy::dynatemp_range, nullptr, Stage::kTemperature,
     "the temperature moves within temperature ± range with the entropy of the row; 0 is off"},
    {"dynatemp_exponent", 0.01, 10, 1, &Policy::dynatemp_exponent, nullptr, std::nullopt,
     "the normalised entropy is raised to this before it places the dynamic temperature"},
    {"top_k", 0, kMaxInt, 0, nullptr, &Policy::top_k, Stage::kTopK,
     "keeps the k largest logits; 0, or more than there are, keeps all"},
    {"top_p", 0, 1, 1, &Policy::top_p, nullptr, Stage::kTopP,
     "keeps the fewest tokens whose probabilities reach p, largest first; 0 keeps the largest "
     "only, 1 all"},
    {"min_p", 0, 1, 0, &Policy::min_p, nullptr, Stage::kMinP,
     "keeps tokens with at least this share of the largest probability; 0 keeps all"},
    {"typical_p", 0, 1, 1, &Policy::typical_p, nullptr, Stage::kTypicalP,
     "keeps the tokens whose surprise is nearest to the entropy, until their sum exceeds this; 1 "
     "keeps all"},
    {"top_n_sigma", 0, 100, 0, &Policy::top_n_sigma, nullptr, Stage::kTopNSigma,
     "keeps logits within this many standard deviations of the largest; 0 keeps all"},
    {"xtc_probability", 0, 1, 0, &Policy::xtc_probability, nullptr, Stage::kXtc,
     "how often the most probable tokens are left out, all but the least of those above "
     "xtc_threshold"},
    {"xtc_threshold", 0, 1, 0.1, &Policy::xtc_threshold, nullptr, std::nullopt,
     "the probability from which xtc may leave a token out; above 0.5 it never does"},
    {"repetition_penalty", 0.01, 100, 1, &Policy::repetition_penalty, nullptr, Stage::kPenalties,
     "positive logits of repeated tokens are divided by it, others multiplied; 1 is off. Acts at "
     "temperature 0"},
    {"presence_penalty", -100, 100, 0, &Policy::presence_penalty, nullptr, Stage::kPenalties,
     "subtracted once from the logit of every repeated token; 0 is off. Acts at temperature 0"},
    {"frequency_penalty", -100, 100, 0, &Policy::frequency_penalty, nullptr, Stage::kPenalties,
     "subtracted from a repeated token's logit for each occurrence; 0 is off. Acts at temperature "
     "0"},
    {"repeat_last_n", -1, kMaxInt, 64, nullptr, &Policy::repeat_last_n, std::nullopt,
     "the last tokens, of prompt and completion, that the three penalties count; 0 is none, -1 is "
     "all"},
    {"dry_multiplier", 0, 100, 0, &Policy::dry_multiplier, nullptr, Stage::kDry,
     "DRY: a token that would extend a repetition of n tokens loses multiplier * base^(n - "
     "allowed_length); 0 "
     "is off. Acts at temperature 0"},
    {"dry_base", 1, 100, 1.75, &Policy::dry_base, nullptr, std::nullopt,
     "the base of the DRY penalty"},
    {"dry_allowed_length", 1, kMaxInt, 2, nullptr, &Policy::dry_allowed_length, std::nullopt,
     "repetitions shorter than this many tokens are free"},
    {"dry_penalty_last_n", -1, kMaxInt, -1, nullptr, &Policy::dry_penalty_last_n, std::nullopt,
     "the last tokens, of prompt and completion, in which DRY looks for repetitions; 0 is none, -1 "
     "is all"},
    {"mirostat", 0, 2, 0, nullptr, &Policy::mirostat, Stage::kMirostat,
     "1 or 2: that version of mirostat steers the surprise of the text, in place of every other "
     "cut; 0 is off"},
    {"mirostat_tau", 0, 100, 5, &Policy::mirostat_tau, nullptr, std::nullopt,
     "the surprise that mirostat aims at, in bits per token"},
    {"mirostat_eta", 0, 10, 0.1, &Policy::mirostat_eta, nullptr, std::nullopt,
     "how fast mirostat corrects itself"},
    {"min_tokens", 0, kMaxInt, 0, nullptr, &Policy::min_tokens, std::nullopt,
     "end tokens cannot be chosen before this many tokens are generated; the prompt does not "
     "count"},
    {"top_logprobs", 0, 1000, 0, nullptr, &Policy::top_logprobs, std::nullopt,
     "how many of the row's largest log-probabilities are reported with each token"},
};

std::string number(double value) {
  return fmt::format("{}", value);
}

Error refuse(std::string_view name, std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message), std::string(name)};
}

Result<void> check_value(const Knob& knob, double value) {
  if (!(value >= knob.minimum &&
        value <= knob.maximum)) {  // so written, it refuses what is not a number
    return refuse(knob.name, fmt::format("{} is {}, outside of [{}, {}]", knob.name, number(value),
                                         number(knob.minimum), number(knob.maximum)));
  }
  if (knob.integer != nullptr && value != std::floor(value)) {
    return refuse(knob.name, fmt::format("{} is {}, not a whole number", knob.name, number(value)));
  }
  return {};
}

std::span<const Stage> samplers_of(const Policy& policy) {
  return policy.samplers.empty() ? default_samplers() : std::span<const Stage>(policy.samplers);
}

bool is_sampler(Stage stage) {
  return std::find(kDefaultSamplers.begin(), kDefaultSamplers.end(), stage) !=
         kDefaultSamplers.end();
}

// The knob that moved the stage out of neutral.
const Knob& moved_knob(Stage stage, const Policy& policy) {
  const Knob* found = nullptr;
  for (const Knob& knob : kKnobs) {
    if (knob.stage == stage && (found == nullptr || found->get(policy) == found->standard))
      found = &knob;
  }
  return *found;
}

Result<void> check_samplers(const Policy& policy) {
  const std::span<const Stage> samplers = samplers_of(policy);
  for (size_t i = 0; i < samplers.size(); ++i) {
    const std::string name(stage_name(samplers[i]));
    if (!is_sampler(samplers[i]))
      return refuse("samplers", fmt::format("{} has a fixed place", name));
    if (std::find(samplers.begin(), samplers.begin() + i, samplers[i]) != samplers.begin() + i) {
      return refuse("samplers", fmt::format("{} stands in samplers twice", name));
    }
  }
  for (const Stage stage : kDefaultSamplers) {
    if (!is_active(stage, policy)) continue;
    if (std::find(samplers.begin(), samplers.end(), stage) != samplers.end()) continue;
    const Knob& knob = moved_knob(stage, policy);
    return refuse(knob.name, fmt::format("{} is {}, and samplers leaves {} out", knob.name,
                                         number(knob.get(policy)), stage_name(stage)));
  }
  if (policy.mirostat == 0) return {};
  for (const Stage stage : kCuts) {
    if (!is_active(stage, policy)) continue;
    const Knob& knob = moved_knob(stage, policy);
    return refuse(knob.name,
                  fmt::format("{} is {}, and mirostat makes its own cut: set it to {}", knob.name,
                              number(knob.get(policy)), number(knob.standard)));
  }
  return {};
}

Result<void> check_id(const char* name, base::TokenId id, int32_t vocabulary) {
  if (id >= 0 && id < vocabulary) return {};
  return refuse(name, fmt::format("{}: id {}, outside of [0, {}]", name, id, vocabulary - 1));
}

}  // namespace

std::string_view stage_name(Stage stage) {
  return kStageNames[static_cast<size_t>(stage)];
}

std::span<const Stage> default_samplers() {
  return kDefaultSamplers;
}

Result<std::vector<Stage>> parse_samplers(std::string_view names) {
  std::vector<Stage> stages;
  while (!names.empty()) {
    const size_t comma = std::min(names.find(','), names.size());
    const std::string_view name = names.substr(0, comma);
    names.remove_prefix(std::min(comma + 1, names.size()));
    const auto known = std::find_if(kDefaultSamplers.begin(), kDefaultSamplers.end(),
                                    [name](Stage stage) { return stage_name(stage) == name; });
    if (known == kDefaultSamplers.end()) {
      return refuse("samplers", fmt::format("no sampler is called '{}'", name));
    }
    if (std::find(stages.begin(), stages.end(), *known) != stages.end()) {
      return refuse("samplers", fmt::format("{} stands in samplers twice", name));
    }
    stages.push_back(*known);
  }
  if (stages.empty()) return refuse("samplers", "samplers is empty");
  return stages;
}

double Knob::get(const Policy& policy) const {
  return real != nullptr ? policy.*real : static_cast<double>(policy.*integer);
}

std::span<const Knob> knobs() {
  return kKnobs;
}

const Knob* find_knob(std::string_view name) {
  const auto found = std::find_if(std::begin(kKnobs), std::end(kKnobs),
                                  [name](const Knob& knob) { return knob.name == name; });
  return found == std::end(kKnobs) ? nullptr : found;
}

Result<void> set_knob(Policy& policy, std::string_view name, double value) {
  const Knob* knob = find_knob(name);
  if (knob == nullptr) return refuse(name, fmt::format("no knob is called '{}'", name));
  PAWL_TRY_VOID(check_value(*knob, value));
  if (knob->real != nullptr) {
    policy.*knob->real = value;
  } else {
    policy.*knob->integer = static_cast<int32_t>(value);
  }
  return {};
}

Result<void> validate(const Policy& policy) {
  for (const Knob& knob : kKnobs) PAWL_TRY_VOID(check_value(knob, knob.get(policy)));
  for (const auto& [id, bias] : policy.logit_bias) {
    if (!(bias >= -kMaxBias && bias <= kMaxBias)) {
      return refuse("logit_bias", fmt::format("logit_bias of id {} is {}, outside of [{}, {}]", id,
                                              number(bias), -kMaxBias, kMaxBias));
    }
  }
  for (const auto& breaker : policy.dry_sequence_breakers) {
    if (breaker.empty()) return refuse("dry_sequence_breakers", "a sequence breaker is empty");
  }
  return check_samplers(policy);
}

Result<void> validate_ids(const Policy& policy, int32_t vocabulary) {
  for (const auto& entry : policy.logit_bias) {
    PAWL_TRY_VOID(check_id("logit_bias", entry.first, vocabulary));
  }
  for (const base::TokenId id : policy.banned) PAWL_TRY_VOID(check_id("banned", id, vocabulary));
  for (const base::TokenId id : policy.allowed) PAWL_TRY_VOID(check_id("allowed", id, vocabulary));
  for (const auto& breaker : policy.dry_sequence_breakers) {
    for (const base::TokenId id : breaker) {
      PAWL_TRY_VOID(check_id("dry_sequence_breakers", id, vocabulary));
    }
  }
  return {};
}

bool is_active(Stage stage, const Policy& policy) {
  switch (stage) {
    case Stage::kLogitBias:
      return !policy.logit_bias.empty();
    case Stage::kBans:
      return !policy.banned.empty() || !policy.allowed.empty();
    case Stage::kMask:
      return true;
    case Stage::kEndTokens:
      return policy.ignore_eos || policy.min_tokens > 0;
    case Stage::kPenalties:
      return policy.repeat_last_n != 0 &&
             (policy.repetition_penalty != 1 || policy.presence_penalty != 0 ||
              policy.frequency_penalty != 0);
    case Stage::kDry:
      return policy.dry_multiplier != 0 && policy.dry_penalty_last_n != 0;
    case Stage::kTopNSigma:
      return policy.top_n_sigma != 0;
    case Stage::kTopK:
      return policy.top_k != 0;
    case Stage::kTypicalP:
      return policy.typical_p != 1;
    case Stage::kTopP:
      return policy.top_p != 1;
    case Stage::kMinP:
      return policy.min_p != 0;
    case Stage::kXtc:
      return policy.xtc_probability != 0 && policy.xtc_threshold <= 0.5;
    case Stage::kTemperature:
      return policy.temperature != 1 || policy.dynatemp_range != 0;
    case Stage::kMirostat:
      return policy.mirostat != 0;
  }
  return false;
}

}  // namespace pawl::policy
