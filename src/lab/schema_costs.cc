// SPDX-License-Identifier: Apache-2.0
#include "lab/schema_costs.h"

#include <algorithm>

#include "lab/stats.h"

namespace pawl::lab {

using base::Json;

namespace {

Estimate estimate_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  return {mean, mean_interval(values).value_or(Interval{mean, mean})};
}

Estimate scaled(const Estimate& one, double by) {
  return {one.value * by, {one.interval.low * by, one.interval.high * by}};
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

// One prompt's answers beside the full ones; times in ms.
struct Pair {
  double full = 0, saved = 0, start_gain = 0, billed = 0;
  double rest_tokens = 0;  // chosen ones that the rest became longer
  double token_ms = 0;     // of a chosen token of the full answer's rest
  double bytes = 0, full_bytes = 0;
  bool is_alike = false;  // the rest says the same

  // Saved beyond the bill. The prompt is no part of the field: it is left out of both sides.
  double over() const { return saved - start_gain - billed; }
};

Pair pair_of(const StudyPlan& plan, const StudyVariant& variant,
             const std::vector<StudyAnswer>& full, const std::vector<StudyAnswer>& here) {
  const auto whole_of = [](const StudyAnswer& one) { return one.bill.whole_ms; };
  const auto start_of = [](const StudyAnswer& one) { return one.bill.start_ms; };
  const auto billed_of = [&](const StudyAnswer& one) {
    return cost_of(one.bill, variant.left_out).ms;
  };
  const auto rest_of = [&](const StudyAnswer& one) {
    const FieldCost all = one.bill.under({}), out = cost_of(one.bill, variant.left_out);
    return static_cast<double>(all.tokens - all.forced - out.tokens + out.forced);
  };
  const auto rest_ms_of = [&](const StudyAnswer& one) {
    return one.bill.under({}).ms - billed_of(one);
  };
  const auto bytes_of = [](const StudyAnswer& one) {
    return static_cast<double>(one.record->text.size());
  };
  const auto stripped_bytes_of = [&](const StudyAnswer& one) {
    return static_cast<double>(without(one.value, variant.left_out).dump().size());
  };
  Pair pair;
  pair.full = mean_over(full, whole_of);
  pair.saved = pair.full - mean_over(here, whole_of);
  pair.start_gain = mean_over(full, start_of) - mean_over(here, start_of);
  pair.billed = mean_over(full, billed_of);
  const double full_rest = mean_over(full, rest_of);
  pair.rest_tokens = mean_over(here, rest_of) - full_rest;
  if (full_rest > 0) pair.token_ms = mean_over(full, rest_ms_of) / full_rest;
  pair.full_bytes = mean_over(full, bytes_of);
  pair.bytes = variant.kind == VariantKind::kStripped ? mean_over(here, stripped_bytes_of)
                                                      : mean_over(here, bytes_of);
  const auto is_like = [&](const StudyAnswer& one) {
    return says_the_same(one.value, full.front().value, plan.fields, variant.left_out);
  };
  pair.is_alike = std::ranges::all_of(full, is_like) && std::ranges::all_of(here, is_like);
  return pair;
}

// Measured over the bill, from the differences of single prompts: their sizes drop out.
std::optional<OverBill> over_bill(const std::vector<double>& over, double billed_ms) {
  if (over.empty() || billed_ms <= 0) return std::nullopt;
  const auto ratio = [&](double difference) { return 1 + difference / billed_ms; };
  const Estimate difference = estimate_of(over);
  const Interval sure = mean_interval(over, kSure).value_or(difference.interval);
  OverBill made;
  made.n = static_cast<int64_t>(over.size());
  made.ratio = {ratio(difference.value),
                {ratio(difference.interval.low), ratio(difference.interval.high)}};
  made.sure = {ratio(sure.low), ratio(sure.high)};
  return made;
}

void compare_with_bill(const std::vector<Pair>& pairs, VariantResult& result) {
  std::vector<double> over, at_length, alike;
  double billed = 0, alike_billed = 0;
  for (const Pair& pair : pairs) {
    billed += pair.billed;
    over.push_back(pair.over());
    // What the rest became longer is no part of what the field had cost.
    at_length.push_back(pair.over() + pair.rest_tokens * pair.token_ms);
    if (!pair.is_alike) continue;
    alike_billed += pair.billed;
    alike.push_back(pair.over());
  }
  const auto n = static_cast<double>(pairs.size());
  result.billed_ms = billed / n;
  result.over_bill = over_bill(over, billed / n);
  result.at_length = over_bill(at_length, billed / n);
  if (!alike.empty()) {
    result.alike = over_bill(alike, alike_billed / static_cast<double>(alike.size()));
  }
}

}  // namespace

bool says_the_same(const Json& a, const Json& b, const std::vector<FieldPath>& fields,
                   const std::vector<FieldPath>& left_out) {
  return std::ranges::all_of(fields, [&](const FieldPath& field) {
    if (std::ranges::find(left_out, field) != left_out.end()) return true;
    const auto x = value_at(a, field), y = value_at(b, field);
    return x.has_value() == y.has_value() && (!x || x->dump() == y->dump());
  });
}

void compare_costs(const StudyPlan& plan, const StudyVariant& variant, const AnswersByPrompt& full,
                   const AnswersByPrompt& here, VariantResult& result) {
  std::vector<Pair> pairs;
  std::vector<double> all_ms, saved;
  double whole = 0, bytes = 0, full_bytes = 0;
  for (const auto& [prompt, list] : here) {
    all_ms.push_back(mean_over(list, [](const StudyAnswer& one) { return one.bill.whole_ms; }));
    const auto other = full.find(prompt);
    if (other == full.end()) continue;
    const Pair& pair = pairs.emplace_back(pair_of(plan, variant, other->second, list));
    saved.push_back(pair.saved);
    whole += pair.full;
    bytes += pair.bytes;
    full_bytes += pair.full_bytes;
    result.rest_tokens += pair.rest_tokens;
    result.start_ms -= pair.start_gain;
  }
  if (!all_ms.empty()) result.ms = estimate_of(all_ms);
  result.pairs = static_cast<int64_t>(pairs.size());
  if (pairs.empty()) return;
  const auto n = static_cast<double>(pairs.size());
  result.rest_tokens /= n;
  result.start_ms /= n;
  result.bytes = bytes / n;
  if (variant.kind == VariantKind::kFull) return;
  result.saved_ms = estimate_of(saved);
  result.saved_share = scaled(*result.saved_ms, n / whole);
  result.saved_bytes_share = 1 - bytes / full_bytes;
  result.sure_saved = mean_interval(saved, kSure).value_or(result.saved_ms->interval);
  if (variant.left_out.empty()) return;
  compare_with_bill(pairs, result);
  result.billed_share = *result.billed_ms * n / whole;
}

}  // namespace pawl::lab
