// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_report.h"

#include <fmt/format.h>

#include "cli/lab_session.h"
#include "cli/sweep_report.h"
#include "cli/text_table.h"

namespace pawl::cli {

using lab::RuleAnswer;
using lab::RuleState;
using lab::Slower;

namespace {

void print_side(std::string_view name, const lab::Side& side) {
  fmt::print("{}  {:.0f} in, {:.0f} out", name, side.shape.prompt, side.shape.output);
  if (side.deployment != nullptr) {
    fmt::print(" at {}: {} on {}, as published, not measured here", side.place,
               side.deployment->model, side.deployment->machine);
  } else if (side.profile != nullptr) {
    fmt::print(" by {}: {}", side.place, shown_conditions(side.profile->conditions));
  }
  fmt::print("\n");
}

std::string times_of(const lab::Estimate& estimate) {
  const lab::Interval& interval = estimate.interval;
  if (interval.low == interval.high) return human_ms(estimate.value);
  return fmt::format("{} ({} to {})", human_ms(estimate.value), human_ms(interval.low),
                     human_ms(interval.high));
}

void print_rule(const RuleAnswer& rule) {
  if (rule.state == RuleState::kAnswers) {
    const bool is_told = rule.slower != Slower::kCannotTell;
    fmt::print("{} {:14} {}", is_told ? "✓" : "?", rule.name,
               is_told ? fmt::format("{} takes longer", lab::slower_name(rule.slower))
                       : std::string("cannot tell"));
    if (rule.a_ms && rule.b_ms) {
      fmt::print(": a {}, b {}", times_of(*rule.a_ms), times_of(*rule.b_ms));
    }
    fmt::print("\n");
    return;
  }
  fmt::print("{} {:14} {}\n", rule.state == RuleState::kRefuses ? "✗" : "-", rule.name,
             rule.state == RuleState::kRefuses ? "refuses: these differ or are not known"
                                               : "lacks what it needs");
  for (const std::string& reason : rule.reasons) fmt::print("                   {}\n", reason);
}

}  // namespace

void print_prediction(const lab::Side& a, const lab::Side& b, const lab::Prediction& prediction) {
  print_side("a", a);
  print_side("b", b);
  fmt::print("\n");
  for (const RuleAnswer& rule : prediction.rules) print_rule(rule);
  if (!prediction.notes.empty()) fmt::print("\n");
  for (const std::string& note : prediction.notes) fmt::print("note: {}\n", note);
  if (prediction.flips_at) {
    fmt::print(
        "\nthe order of these two turns where one output token takes as long as {:.3g} prompt "
        "tokens",
        *prediction.flips_at);
    if (prediction.exchange) fmt::print("; here it is {}", shown_estimate(*prediction.exchange));
    fmt::print("\n");
  }
}

void print_score(const lab::Score& score, const lab::Conditions& conditions) {
  fmt::print("{}\n\n", shown_conditions(conditions));
  TextTable table;
  table.columns = {{"rule", false}, {"decided", true},     {"right", true},
                   {"", true},      {"cannot tell", true}, {"refused", true}};
  for (const lab::RuleScore& rule : score.rules) {
    table.rows.push_back({rule.name, std::to_string(rule.decided), std::to_string(rule.right),
                          rule.decided > 0
                              ? fmt::format("{:.1f} %", 100.0 * static_cast<double>(rule.right) /
                                                            static_cast<double>(rule.decided))
                              : "-",
                          std::to_string(rule.abstained), std::to_string(rule.refused)});
  }
  fmt::print("{}", table_text(table));
  fmt::print(
      "\n{} pairs, {} failed; {} of {} single requests inside their 95 % interval ({:.1f} %), "
      "{:.1f} % off in the median\n",
      score.pairs.size(), score.failed, score.covered, score.intervals,
      score.intervals > 0
          ? 100.0 * static_cast<double>(score.covered) / static_cast<double>(score.intervals)
          : 0,
      100 * score.median_error);
  fmt::print(
      "output length alone explains {} of the variance inside the fence, {} with prompts of all "
      "lengths\n",
      shown_estimate(score.r2_inside), shown_estimate(score.r2_overall));
  fmt::print("\n{}  the full fit is right in at least 95 % of the pairs it decides\n",
             score.holds ? "holds" : "fails");
}

}  // namespace pawl::cli
