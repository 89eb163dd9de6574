// SPDX-License-Identifier: Apache-2.0
// The stages that change logits or take single ids out, and the list. The cuts are in cuts.cc, DRY
// in dry.cc.
#include "policy/stages.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"
#include "policy/row_math.h"

namespace pawl::policy {

namespace {

constexpr float kOut = -std::numeric_limits<float>::infinity();

void apply_logit_bias(const Policy& policy, Candidates& candidates) {
  for (const auto& [id, bias] : policy.logit_bias) {
    const size_t at = candidates.find(id);
    candidates.change(at, static_cast<float>(candidates.at(at) + bias));
  }
}

void take_out(std::span<const base::TokenId> ids, Candidates& candidates) {
  for (const base::TokenId id : ids) {
    const size_t at = candidates.find(id);
    if (at != candidates.size()) candidates.change(at, kOut);
  }
}

void apply_bans(const Policy& policy, Scratch& scratch) {
  if (!policy.allowed.empty()) {
    scratch.indices.assign(policy.allowed.begin(), policy.allowed.end());
    std::sort(scratch.indices.begin(), scratch.indices.end());
    scratch.indices.erase(std::unique(scratch.indices.begin(), scratch.indices.end()),
                          scratch.indices.end());
    for (const int32_t id : scratch.indices)
      PAWL_CHECK(scratch.candidates.find(id) != scratch.candidates.size());
    scratch.candidates.keep(scratch.indices);
  }
  take_out(policy.banned, scratch.candidates);
}

void apply_mask(const TokenMask& mask, Scratch& scratch) {
  Candidates& candidates = scratch.candidates;
  scratch.indices.clear();
  int32_t base = 0;
  for (uint64_t word : mask.words()) {
    for (; word != 0; word &= word - 1) {
      const size_t at = candidates.find(base + std::countr_zero(word));
      if (at != candidates.size()) scratch.indices.push_back(static_cast<int32_t>(at));
    }
    base += TokenMask::kWordBits;
  }
  if (scratch.indices.size() < candidates.size()) candidates.keep(scratch.indices);
}

bool holds_back_end_tokens(const Situation& situation) {
  return situation.policy.ignore_eos || situation.history.generated() < situation.policy.min_tokens;
}

// These ask for and change single logits, so that a few changes may stand beside the row.
bool looks_at_single_logits(Stage stage) {
  return stage == Stage::kLogitBias || stage == Stage::kBans || stage == Stage::kEndTokens ||
         stage == Stage::kPenalties || stage == Stage::kDry || stage == Stage::kTemperature;
}

bool is_cut(Stage stage) {
  return stage != Stage::kPenalties && stage != Stage::kDry && stage != Stage::kTemperature;
}

}  // namespace

void Scratch::start(std::span<const float> row) {
  candidates.start(row);
  indices.reserve(row.size() + kBlock);
  ranked.reserve(row.size());
  block_largest.reserve(row.size() / kBlock + 1);
  block_bounds.reserve(row.size() / kBlock + 1);
}

StageList::StageList(const Situation& situation) {
  const Policy& policy = situation.policy;
  if (is_active(Stage::kLogitBias, policy)) add(Stage::kLogitBias);
  if (is_active(Stage::kBans, policy)) add(Stage::kBans);
  if (situation.mask != nullptr) add(Stage::kMask);
  if (holds_back_end_tokens(situation)) add(Stage::kEndTokens);

  const bool greedy = policy.temperature == 0;
  const std::span<const Stage> samplers =
      policy.samplers.empty() ? default_samplers() : std::span<const Stage>(policy.samplers);
  for (const Stage stage : samplers) {
    if (!is_active(stage, policy)) continue;
    if (greedy && (is_cut(stage) || stage == Stage::kTemperature)) continue;
    add(stage);
  }
  if (greedy) {
    add(Stage::kTemperature);
  } else if (is_active(Stage::kMirostat, policy)) {
    add(Stage::kMirostat);
  }
}

void apply_stage(Stage stage, const Situation& situation, Scratch& scratch) {
  const Policy& policy = situation.policy;
  if (!looks_at_single_logits(stage) || scratch.candidates.divisor() != 1) {
    scratch.candidates.settle();
  }
  switch (stage) {
    case Stage::kLogitBias:
      return apply_logit_bias(policy, scratch.candidates);
    case Stage::kBans:
      return apply_bans(policy, scratch);
    case Stage::kMask:
      return apply_mask(*situation.mask, scratch);
    case Stage::kEndTokens:
      return take_out(situation.end_ids, scratch.candidates);
    case Stage::kPenalties:
      return apply_penalties(situation, scratch);
    case Stage::kDry:
      return apply_dry(situation, scratch);
    case Stage::kTopNSigma:
      return cut_top_n_sigma(policy.top_n_sigma, scratch);
    case Stage::kTopK:
      return cut_top_k(policy.top_k, scratch);
    case Stage::kTypicalP:
      return cut_typical_p(policy.typical_p, scratch);
    case Stage::kTopP:
      return cut_top_p(policy.top_p, scratch);
    case Stage::kMinP:
      return cut_min_p(policy.min_p, scratch);
    case Stage::kXtc:
      return cut_xtc(situation, scratch);
    case Stage::kTemperature:
      return apply_temperature(situation, scratch);
    case Stage::kMirostat:
      return cut_mirostat(situation, scratch);
  }
}

// For every distinct id of the window, c times in it: logit / repetition if positive, else logit *
// repetition (arXiv 1909.05858 §4.1); then minus c * frequency + presence.
void apply_penalties(const Situation& situation, Scratch& scratch) {
  const Policy& policy = situation.policy;
  Candidates& candidates = scratch.candidates;
  for (const History::Count& entry : situation.history.counts()) {
    const size_t at = candidates.find(entry.id);
    if (at == candidates.size()) continue;
    double logit = candidates.at(at);
    logit = logit > 0 ? logit / policy.repetition_penalty : logit * policy.repetition_penalty;
    logit -= entry.count * policy.frequency_penalty + policy.presence_penalty;
    candidates.change(at, static_cast<float>(logit));
  }
}

// logit / t. Dynamic temperature: with H the entropy of the n candidates and h = (H / ln
// n)^exponent, t = low + (high - low) * h, low = max(0, temperature - range), high = temperature +
// range; a single candidate needs none. t = 0 keeps the largest logit only.
void apply_temperature(const Situation& situation, Scratch& scratch) {
  // Smaller ones differ in nothing but that logits overflow.
  constexpr double kSmallest = 1e-30;
  const Policy& policy = situation.policy;
  Candidates& candidates = scratch.candidates;
  double temperature = policy.temperature;
  if (temperature > 0 && policy.dynatemp_range > 0) {
    candidates.settle();
    const size_t count = candidates.count();
    if (count <= 1) return;
    const double share =
        std::clamp(entropy(scratch) / exact_log(static_cast<double>(count)), 0.0, 1.0);
    const double low = std::max(0.0, temperature - policy.dynatemp_range);
    const double high = temperature + policy.dynatemp_range;
    temperature = low + (high - low) * exact_pow(share, policy.dynatemp_exponent);
  }
  if (temperature > 0) return candidates.divide(std::max(temperature, kSmallest));

  const Largest top = candidates.largest();
  if (top.index == candidates.size()) return;
  scratch.indices.assign(1, static_cast<int32_t>(top.index));
  candidates.keep(scratch.indices);
}

}  // namespace pawl::policy
