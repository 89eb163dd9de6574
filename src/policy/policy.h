// SPDX-License-Identifier: Apache-2.0
// Policy: every knob between a row of logits and a token, with its range, its neutral value and
// what it means. The table of knobs is the one list of names and ranges; flags, request fields and
// validation read it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/token.h"

namespace pawl::policy {

// What can happen to a row, in the default order. The first four are facts and always come first;
// the order of the others is `Policy::samplers`; mirostat makes its own cut after them and excludes
// the other cuts.
enum class Stage : uint8_t {
  kLogitBias,  // logit + bias
  kBans,       // banned ids out; where `allowed` is not empty, all but those out
  kMask,       // what the constraint forbids out
  kEndTokens,  // end ids out, while min_tokens or ignore_eos say so
  kPenalties,
  kDry,
  kTopNSigma,
  kTopK,
  kTypicalP,
  kTopP,
  kMinP,
  kXtc,
  kTemperature,  // with the dynamic temperature
  kMirostat,
};
inline constexpr int kStages = 14;

std::string_view stage_name(Stage stage);

// llama.cpp's default order. All stages that `samplers` may name.
std::span<const Stage> default_samplers();

// "top_k,temperature" → stages. Error: an unknown or doubled name.
base::Result<std::vector<Stage>> parse_samplers(std::string_view names);

// A default Policy is neutral in every knob: temperature 1, no cut, no penalty, no bias. Both the
// command line and the HTTP server start from it; there is no second set of defaults.
struct Policy {
  static Policy defaults() { return {}; }

  // Numbers with a range: the table `knobs()` says what each does.
  double temperature = 1;
  double dynatemp_range = 0;
  double dynatemp_exponent = 1;
  int32_t top_k = 0;
  double top_p = 1;
  double min_p = 0;
  double typical_p = 1;
  double top_n_sigma = 0;
  double xtc_probability = 0;
  double xtc_threshold = 0.1;
  double repetition_penalty = 1;
  double presence_penalty = 0;
  double frequency_penalty = 0;
  int32_t repeat_last_n = 64;
  double dry_multiplier = 0;
  double dry_base = 1.75;
  int32_t dry_allowed_length = 2;
  int32_t dry_penalty_last_n = -1;
  int32_t mirostat = 0;
  double mirostat_tau = 5;
  double mirostat_eta = 0.1;
  int32_t min_tokens = 0;
  int32_t top_logprobs = 0;

  // Never choose an end token; the sequence then ends by length or by a stop string only.
  bool ignore_eos = false;
  // Ask choose for the log-probability of the chosen token (top_logprobs > 0 asks for it too).
  bool logprobs = false;
  // The whole key of the random numbers, with the position: same seed, same draws. Whoever takes a
  // request without a seed draws one and reports it.
  uint64_t seed = 0;

  std::vector<std::pair<base::TokenId, double>>
      logit_bias;                      // added to the logit, each in [-100, 100]
  std::vector<base::TokenId> banned;   // never chosen
  std::vector<base::TokenId> allowed;  // when not empty, nothing else is chosen
  // Id sequences across which DRY sees no repetition: line ends, quotes. Single ids are never
  // penalised by it.
  std::vector<std::vector<base::TokenId>> dry_sequence_breakers;
  // The stages to run, in order. Empty: default_samplers(). A stage left out does not run, so its
  // knobs must be neutral.
  std::vector<Stage> samplers;
};

// One row per number in Policy: exactly one of `real` and `integer` is set.
struct Knob {
  const char* name;
  double minimum, maximum;  // both allowed
  double standard;  // the value in Policy::defaults(); neutral, alone or through the knob it
                    // belongs to
  double Policy::*real;
  int32_t Policy::*integer;
  std::optional<Stage>
      stage;  // which stage it moves out of neutral; none for a knob that only shapes another
  const char* help;

  double get(const Policy& policy) const;
};
std::span<const Knob> knobs();

// nullptr for a name that is not in the table.
const Knob* find_knob(std::string_view name);

// Sets one number by name. Error invalid_argument: unknown name, not a number, out of range, not
// whole.
base::Result<void> set_knob(Policy& policy, std::string_view name, double value);

// Names the first knob out of its range and the range; refuses what is not a number, a logit_bias
// out of range, doubled samplers, a knob whose stage does not run, and mirostat beside another cut.
base::Result<void> validate(const Policy& policy);

// Every id that the policy names is in [0, vocabulary).
base::Result<void> validate_ids(const Policy& policy, int32_t vocabulary);

// Whether the stage changes anything: false at the neutral value, and the stage is then skipped.
// kMask and kEndTokens depend on the sequence too and are true where the policy does not rule them
// out.
bool is_active(Stage stage, const Policy& policy);

}  // namespace pawl::policy
