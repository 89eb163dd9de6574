// SPDX-License-Identifier: Apache-2.0
#include "lab/schema_study.h"

#include <algorithm>

#include "lab/schema_costs.h"

namespace pawl::lab {

using base::Json;

namespace {

bool is_budget_spent_thinking(const RequestRecord& record) {
  return record.finish_reason == "length" && record.text.empty() && !record.reasoning.empty();
}

// Sorts the records of a variant into states, and gives those that are whole answers.
AnswersByPrompt answers_of(const StudyVariant& variant, std::span<const RequestRecord> records,
                           size_t prompts, double forced_price, VariantResult& result) {
  AnswersByPrompt answers;
  for (const RequestRecord& record : records) {
    if (record.asked.arm != variant.name || record.asked.is_warm_up) continue;
    const size_t prompt = std::strtoul(record.asked.label.c_str(), nullptr, 10);
    if (prompt >= prompts) continue;
    ++result.asked;
    if (record.state != RequestState::kSuccess) {
      ++result.failed;
      continue;
    }
    auto value = base::parse_json(record.text);
    auto bill = bill_of(record, forced_price);
    if (is_budget_spent_thinking(record)) {
      ++result.no_answer_budget;
    } else if (!value.ok() || record.finish_reason == "length" || !bill) {
      ++result.incomplete;
    } else {
      ++result.answers;
      answers[prompt].push_back({&record, std::move(*value), std::move(*bill)});
    }
  }
  for (auto& [prompt, list] : answers) {
    std::stable_sort(list.begin(), list.end(), [](const StudyAnswer& a, const StudyAnswer& b) {
      return a.record->asked.repetition < b.record->asked.repetition;
    });
  }
  return answers;
}

// The first answer to each prompt against the first in full.
Agreement agreement_of(const FieldPath& field, const AnswersByPrompt& full,
                       const AnswersByPrompt& here) {
  Agreement agreement;
  agreement.field = field;
  double sum_full = 0, sum_here = 0;
  bool are_numbers = true;
  for (const auto& [prompt, list] : here) {
    const auto other = full.find(prompt);
    if (other == full.end()) continue;
    const auto a = value_at(other->second.front().value, field);
    const auto b = value_at(list.front().value, field);
    ++agreement.n;
    const bool is_same = a.has_value() == b.has_value() && (!a || a->dump() == b->dump());
    agreement.same += is_same ? 1 : 0;
    const auto x = a ? a->to_double() : std::nullopt, y = b ? b->to_double() : std::nullopt;
    are_numbers = are_numbers && x && y;
    sum_full += x.value_or(0);
    sum_here += y.value_or(0);
  }
  agreement.changed = base::clopper_pearson(agreement.n - agreement.same, agreement.n);
  if (are_numbers && agreement.n > 0) {
    agreement.mean_full = sum_full / static_cast<double>(agreement.n);
    agreement.mean_here = sum_here / static_cast<double>(agreement.n);
  }
  return agreement;
}

std::optional<Rightness> rightness_of(const FieldPath& field, std::span<const StudyPrompt> prompts,
                                      const AnswersByPrompt& answers) {
  Rightness rightness;
  rightness.field = field;
  for (const auto& [prompt, list] : answers) {
    const Json& expected = prompts[prompt].expected;
    if (expected.as_object() == nullptr) continue;
    const auto right = value_at(expected, field);
    if (!right) continue;
    const auto given = value_at(list.front().value, field);
    ++rightness.n;
    rightness.right += given && given->dump() == right->dump() ? 1 : 0;
  }
  if (rightness.n == 0) return std::nullopt;
  rightness.interval = base::clopper_pearson(rightness.right, rightness.n);
  return rightness;
}

}  // namespace

bool Study::has_failed() const {
  return std::any_of(verdicts.begin(), verdicts.end(), [](const CancelVerdict& verdict) {
    return verdict.outcome == Outcome::kFails;
  });
}

const VariantResult* Study::find(VariantKind kind) const {
  const auto found = std::find_if(variants.begin(), variants.end(),
                                  [&](const VariantResult& one) { return one.kind == kind; });
  return found == variants.end() ? nullptr : &*found;
}

std::optional<Study> conclude_study(const StudyPlan& plan, std::span<const StudyPrompt> prompts,
                                    std::span<const RequestRecord> records) {
  Study study;
  study.prompts = static_cast<int64_t>(prompts.size());
  // One for all variants, so that a pass costs the same in each.
  const std::optional<double> price = forced_price(records);
  std::vector<AnswersByPrompt> answers;
  for (const StudyVariant& variant : plan.variants) {
    VariantResult result;
    result.kind = variant.kind;
    result.name = variant.name;
    result.left_out = variant.left_out;
    answers.push_back(answers_of(variant, records, prompts.size(), price.value_or(0), result));
    const AnswersByPrompt& full = answers.front();
    const AnswersByPrompt& here = answers.back();
    compare_costs(plan, variant, full, here, result);
    for (const auto& [prompt, list] : here) {
      result.tokens +=
          mean_over(list,
                    [](const StudyAnswer& one) { return static_cast<double>(one.bill.tokens()); }) /
          static_cast<double>(here.size());
    }
    for (const FieldPath& field : plan.fields) {
      const bool is_out = std::find(variant.left_out.begin(), variant.left_out.end(), field) !=
                          variant.left_out.end();
      if (is_out && variant.kind != VariantKind::kStripped) continue;
      if (variant.kind == VariantKind::kStripped) {
        study.self.push_back(agreement_of(field, full, here));
      } else if (variant.kind != VariantKind::kFull) {
        result.agreement.push_back(agreement_of(field, full, here));
      }
      if (variant.kind == VariantKind::kStripped) continue;
      if (auto rightness = rightness_of(field, prompts, here)) {
        result.rightness.push_back(std::move(*rightness));
      }
    }
    study.variants.push_back(std::move(result));
  }
  std::vector<AnswerBill> bills;
  for (const auto& [prompt, list] : answers.front()) {
    for (const StudyAnswer& answer : list) {
      bills.push_back(answer.bill);
      study.answers.push_back(answer.value);
    }
  }
  if (bills.empty()) return std::nullopt;
  study.bill = sum_bills(bills);
  study.bill.forced_price = price;
  judge_study(plan, records, study);
  return study;
}

}  // namespace pawl::lab
