// SPDX-License-Identifier: Apache-2.0
#include "lab/schema_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lab/stats.h"

namespace pawl::lab {

using base::Json;

namespace {

// One whole answer.
struct Answer {
  const RequestRecord* record = nullptr;
  Json value;
  AnswerBill bill;
};

// A variant's answers by prompt, in the order of repetitions.
using ByPrompt = std::map<size_t, std::vector<Answer>>;

bool is_budget_spent_thinking(const RequestRecord& record) {
  return record.finish_reason == "length" && record.text.empty() && !record.reasoning.empty();
}

// Sorts the records of a variant into states, and gives those that are whole answers.
ByPrompt answers_of(const StudyVariant& variant, std::span<const RequestRecord> records,
                    size_t prompts, VariantResult& result) {
  ByPrompt answers;
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
    auto bill = bill_of(record);
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
    std::stable_sort(list.begin(), list.end(), [](const Answer& a, const Answer& b) {
      return a.record->asked.repetition < b.record->asked.repetition;
    });
  }
  return answers;
}

template <typename F>
double mean_over(const std::vector<Answer>& answers, F&& value) {
  double sum = 0;
  for (const Answer& answer : answers) sum += value(answer);
  return sum / static_cast<double>(answers.size());
}

Estimate estimate_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  return {mean, mean_interval(values).value_or(Interval{mean, mean})};
}

FieldCost cost_of(const AnswerBill& bill, const std::vector<FieldPath>& fields) {
  FieldCost sum;
  for (const FieldPath& field : fields) {
    const FieldCost one = bill.under(field);
    sum.tokens += one.tokens;
    sum.forced += one.forced;
    sum.ms += one.ms;
  }
  return sum;
}

// The first answer to each prompt against the first in full.
Agreement agreement_of(const FieldPath& field, const ByPrompt& full, const ByPrompt& here) {
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
                                      const ByPrompt& answers) {
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

// Time, tokens and bytes of a variant against full, paired by prompt.
void compare_costs(const StudyVariant& variant, const ByPrompt& full, const ByPrompt& here,
                   VariantResult& result) {
  std::vector<double> full_ms, saved, billed, over;
  double start = 0, rest = 0, bytes = 0, full_bytes = 0;
  std::vector<double> all_ms;
  for (const auto& [prompt, list] : here) {
    all_ms.push_back(mean_over(list, [](const Answer& one) { return one.bill.whole_ms; }));
    const auto other = full.find(prompt);
    if (other == full.end()) continue;
    ++result.pairs;
    const double whole =
        mean_over(other->second, [](const Answer& one) { return one.bill.whole_ms; });
    full_ms.push_back(whole);
    saved.push_back(whole - all_ms.back());
    const auto start_of = [](const Answer& one) { return one.bill.start_ms; };
    const double start_gain = mean_over(other->second, start_of) - mean_over(list, start_of);
    start -= start_gain;
    billed.push_back(mean_over(
        other->second, [&](const Answer& one) { return cost_of(one.bill, variant.left_out).ms; }));
    // The prompt is no part of the field: it is left out of both sides.
    over.push_back(saved.back() - start_gain - billed.back());
    const auto rest_of = [&](const Answer& one) {
      const FieldCost all = one.bill.under({}), out = cost_of(one.bill, variant.left_out);
      return static_cast<double>(all.tokens - all.forced - out.tokens + out.forced);
    };
    rest += mean_over(list, rest_of) - mean_over(other->second, rest_of);
    const auto bytes_of = [](const Answer& one) {
      return static_cast<double>(one.record->text.size());
    };
    full_bytes += mean_over(other->second, bytes_of);
    bytes += variant.kind != VariantKind::kStripped
                 ? mean_over(list, bytes_of)
                 : mean_over(list, [&](const Answer& one) {
                     return static_cast<double>(without(one.value, variant.left_out).dump().size());
                   });
  }
  if (!all_ms.empty()) result.ms = estimate_of(all_ms);
  if (result.pairs == 0) return;
  const auto n = static_cast<double>(result.pairs);
  result.rest_tokens = rest / n;
  result.start_ms = start / n;
  result.bytes = bytes / n;
  if (variant.kind == VariantKind::kFull) return;
  const double whole = mean_of(full_ms);
  const auto scaled = [](const Estimate& one, double by) {
    return Estimate{one.value * by, {one.interval.low * by, one.interval.high * by}};
  };
  result.saved_ms = estimate_of(saved);
  result.saved_share = scaled(*result.saved_ms, 1 / whole);
  result.saved_bytes_share = 1 - bytes / full_bytes;
  result.sure_saved = mean_interval(saved, kSure).value_or(result.saved_ms->interval);
  if (variant.left_out.empty()) return;
  result.billed_ms = mean_of(billed);
  result.billed_share = *result.billed_ms / whole;
  if (*result.billed_ms <= 0) return;
  // Measured over the bill, from the differences of single prompts: their sizes drop out.
  const auto ratio = [&](double difference) { return 1 + difference / *result.billed_ms; };
  const Estimate difference = estimate_of(over);
  result.over_bill = Estimate{ratio(difference.value),
                              {ratio(difference.interval.low), ratio(difference.interval.high)}};
  const Interval sure = mean_interval(over, kSure).value_or(difference.interval);
  result.sure_over_bill = {ratio(sure.low), ratio(sure.high)};
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
  std::vector<ByPrompt> answers;
  for (const StudyVariant& variant : plan.variants) {
    VariantResult result;
    result.kind = variant.kind;
    result.name = variant.name;
    result.left_out = variant.left_out;
    answers.push_back(answers_of(variant, records, prompts.size(), result));
    const ByPrompt& full = answers.front();
    const ByPrompt& here = answers.back();
    compare_costs(variant, full, here, result);
    for (const auto& [prompt, list] : here) {
      result.tokens +=
          mean_over(list,
                    [](const Answer& one) { return static_cast<double>(one.bill.tokens()); }) /
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
    for (const Answer& answer : list) {
      bills.push_back(answer.bill);
      study.answers.push_back(answer.value);
    }
  }
  if (bills.empty()) return std::nullopt;
  study.bill = sum_bills(bills);
  judge_study(plan, records, study);
  return study;
}

}  // namespace pawl::lab
