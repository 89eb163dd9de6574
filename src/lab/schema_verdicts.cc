// SPDX-License-Identifier: Apache-2.0
// What a study of a schema shows, and what it refutes.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lab/schema_study.h"

namespace pawl::lab {

using base::Json;

namespace {

constexpr double kNear = 0.10;       // measured beside billed
constexpr double kNearNoise = 0.15;  // half an interval of that which decides nothing
constexpr double kNothing = 0.01;    // of the time: less is nothing
constexpr double kTooWide = 0.05;    // half an interval of the time that decides nothing
constexpr int64_t kFewestPrompts = 3;
constexpr int64_t kFewestAlike = 5;  // prompts: of fewer the interval says nothing

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}
std::string with_interval(const Estimate& share) {
  return fmt::format("{} ({:.1f} to {:.1f})", percent(share.value), 100 * share.interval.low,
                     100 * share.interval.high);
}
std::string shown_paths(const std::vector<FieldPath>& paths) {
  std::string text;
  for (const FieldPath& path : paths) {
    text += (text.empty() ? "'" : ", '") + shown_path(path) + "'";
  }
  return text;
}

// Every token that the server counts is in one place of the bill, and only there.
CancelVerdict judge_complete(const StudyPlan& plan, std::span<const RequestRecord> records) {
  int64_t complete = 0, checked = 0, counted = 0, billed = 0;
  for (const RequestRecord& record : records) {
    if (record.asked.arm != plan.variants.front().name || record.asked.is_warm_up) continue;
    const auto bill = bill_of(record);
    const auto count = best_count(record.output);
    if (!bill || !count) continue;
    ++checked;
    // Where ids are not told, the end token is counted and seen nowhere.
    const int64_t unseen = bill->end_tokens == 0 ? count->count - bill->tokens() : 0;
    const bool is_equal = bill->tokens() == count->count || unseen == 1;
    complete += is_equal ? 1 : 0;
    if (!is_equal) counted += count->count, billed += bill->tokens();
  }
  CancelVerdict verdict{"complete", Outcome::kUnverified, "the server counted no tokens"};
  if (checked == 0) return verdict;
  verdict.outcome = complete == checked ? Outcome::kHolds : Outcome::kFails;
  verdict.reason = fmt::format(
      "the bill holds every token that the server counted in {} of {} answers", complete, checked);
  if (complete < checked) {
    verdict.reason += fmt::format(": {} counted and {} billed in the others", counted, billed);
  }
  return verdict;
}

CancelVerdict judge_stripped(const VariantResult& stripped) {
  const Estimate& share = *stripped.saved_share;
  const double half = (share.interval.high - share.interval.low) / 2;
  CancelVerdict verdict{"stripped", Outcome::kUnverified, ""};
  verdict.reason = fmt::format(
      "stripping {} from the finished answer saved {} of the time and {} of the bytes; n = {}",
      shown_paths(stripped.left_out), with_interval(share),
      percent(stripped.saved_bytes_share.value_or(0)), stripped.pairs);
  const bool is_surely_something = (stripped.sure_saved.low > 0 || stripped.sure_saved.high < 0) &&
                                   std::abs(share.value) > kNothing;
  if (stripped.pairs < kFewestPrompts) {
    verdict.reason += ", too few to tell";
  } else if (is_surely_something) {
    verdict.outcome = Outcome::kFails;
  } else if (half <= kTooWide) {
    verdict.outcome = Outcome::kHolds;
  } else {
    verdict.reason += ": too much noise to tell";
  }
  return verdict;
}

std::string with_interval(const OverBill& over) {
  return fmt::format("{:.2f} times that ({:.2f} to {:.2f}; n = {})", over.ratio.value,
                     over.ratio.interval.low, over.ratio.interval.high, over.n);
}

// Like beside like: other values of the other fields have other lengths, which no bill of the field
// can know. Their effect is shown beside it.
CancelVerdict judge_share(const VariantResult& variant) {
  const bool has_alike = variant.alike && variant.alike->n >= kFewestAlike;
  const OverBill& judged = has_alike ? *variant.alike : *variant.at_length;
  CancelVerdict verdict{"not asked", Outcome::kUnverified, ""};
  verdict.reason = fmt::format(
      "not asking for {} saved {} of the time; by the bill it is {}. {}: {}",
      shown_paths(variant.left_out), with_interval(*variant.saved_share),
      percent(*variant.billed_share),
      has_alike ? "Where the other fields said the same" : "The others' change of length aside",
      with_interval(judged));
  if (variant.over_bill->n > judged.n || std::abs(variant.rest_tokens) >= 0.05) {
    verdict.reason += fmt::format("; as it came: {}, the other fields {:+.1f} tokens",
                                  with_interval(*variant.over_bill), variant.rest_tokens);
  }
  const double half = (judged.ratio.interval.high - judged.ratio.interval.low) / 2;
  if (judged.n < kFewestPrompts) {
    verdict.reason += ", too few to tell";
  } else if (std::abs(judged.ratio.value - 1) <= kNear && half <= kNearNoise) {
    verdict.outcome = Outcome::kHolds;
  } else if (judged.sure.low > 1 + kNear || judged.sure.high < 1 - kNear) {
    verdict.outcome = Outcome::kFails;
  } else {
    verdict.reason += ": too much noise to tell";
  }
  return verdict;
}

// First answers of a variant by prompt.
std::map<std::string, Json> first_answers(std::span<const RequestRecord> records,
                                          std::string_view arm) {
  std::map<std::string, Json> answers;
  for (const RequestRecord& record : records) {
    if (record.asked.arm != arm || record.asked.is_warm_up || record.asked.repetition != 0 ||
        record.state != RequestState::kSuccess) {
      continue;
    }
    auto value = base::parse_json(record.text);
    if (value.ok()) answers.emplace(record.asked.label, std::move(*value));
  }
  return answers;
}

// What is decided before the reasoning is the same whether the reasoning follows or not.
std::optional<CancelVerdict> judge_order(const StudyPlan& plan,
                                         std::span<const RequestRecord> records) {
  if (plan.decisions.empty()) return std::nullopt;
  const StudyVariant* const late =
      plan.is_decision_first ? &plan.variants.front() : plan.find(VariantKind::kReordered);
  const auto alone =
      std::find_if(plan.variants.begin(), plan.variants.end(), [&](const StudyVariant& variant) {
        return variant.kind != VariantKind::kStripped && variant.left_out == plan.reasoning &&
               variant.told == plan.variants.front().told;
      });
  if (late == nullptr || alone == plan.variants.end()) return std::nullopt;
  // Those that stand before all reasoning there.
  const std::vector<std::string> order = [&] {
    std::vector<std::string> names = plan.order;
    if (plan.is_decision_first) {
      names.clear();
      for (const FieldPath& field : plan.fields) names.push_back(field.back());
    }
    return names;
  }();
  std::vector<FieldPath> judged;
  for (const std::string& name : order) {
    const FieldPath path{name};
    const auto is_in = [&](const std::vector<FieldPath>& list) {
      return std::find(list.begin(), list.end(), path) != list.end();
    };
    if (is_in(plan.reasoning)) break;
    if (is_in(plan.decisions)) judged.push_back(path);
  }
  const auto with = first_answers(records, late->name);
  const auto lone = first_answers(records, alone->name);
  int64_t n = 0, same = 0;
  for (const auto& [prompt, answer] : with) {
    const auto other = lone.find(prompt);
    if (other == lone.end()) continue;
    ++n;
    same += std::all_of(judged.begin(), judged.end(), [&](const FieldPath& field) {
      const auto a = value_at(answer, field), b = value_at(other->second, field);
      return a.has_value() == b.has_value() && (!a || a->dump() == b->dump());
    });
  }
  CancelVerdict verdict{"order", Outcome::kUnverified, ""};
  verdict.reason = fmt::format("{} before {}: the same with it behind as without it in {} of {}",
                               shown_paths(judged), shown_paths(plan.reasoning), same, n);
  if (n > 0) verdict.outcome = same == n ? Outcome::kHolds : Outcome::kFails;
  return verdict;
}

}  // namespace

void judge_study(const StudyPlan& plan, std::span<const RequestRecord> records, Study& study) {
  study.verdicts.push_back(judge_complete(plan, records));
  const VariantResult* const stripped = study.find(VariantKind::kStripped);
  if (stripped != nullptr && stripped->saved_share) {
    study.verdicts.push_back(judge_stripped(*stripped));
  }
  const VariantResult* const not_asked = study.find(VariantKind::kNotAsked);
  if (not_asked != nullptr && not_asked->over_bill) {
    study.verdicts.push_back(judge_share(*not_asked));
  }
  if (auto order = judge_order(plan, records)) study.verdicts.push_back(std::move(*order));
}

}  // namespace pawl::lab
