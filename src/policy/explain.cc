// SPDX-License-Identifier: Apache-2.0
#include "policy/explain.h"

#include <algorithm>

#include "policy/choose.h"
#include "policy/row_math.h"

namespace pawl::policy {

namespace {

StageEffect effect(std::string_view name, int32_t top, Scratch& scratch) {
  scratch.candidates.settle();
  const Candidates& candidates = scratch.candidates;
  const std::span<const float> logits = candidates.logits();
  StageEffect result{name, static_cast<int64_t>(candidates.count()), {}};
  if (top <= 0 || result.kept == 0) return result;

  const double normaliser = log_sum_exp(logits);
  select_largest(logits, static_cast<size_t>(top), scratch.indices);
  for (const int32_t index : scratch.indices) {
    const float logit = logits[static_cast<size_t>(index)];
    result.top.push_back(
        {candidates.id(static_cast<size_t>(index)), logit, exact_exp(logit - normaliser)});
  }
  // The indices ascend with the ids, so a stable sort puts the lowest id first among equals.
  std::stable_sort(result.top.begin(), result.top.end(),
                   [](const auto& a, const auto& b) { return a.logit > b.logit; });
  return result;
}

}  // namespace

Explanation explain(const Situation& situation, int32_t top, Scratch& scratch) {
  Explanation explanation;
  scratch.start(situation.row);
  explanation.stages.push_back(effect("logits", top, scratch));
  for (const Stage stage : StageList(situation)) {
    apply_stage(stage, situation, scratch);
    explanation.stages.push_back(effect(stage_name(stage), top, scratch));
  }
  explanation.choice = draw_choice(situation, scratch);
  return explanation;
}

}  // namespace pawl::policy
