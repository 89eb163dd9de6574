// SPDX-License-Identifier: Apache-2.0
// Whole answers to a variant of a schema, and what they cost beside the full ones.
#pragma once

#include <map>
#include <vector>

#include "base/json.h"
#include "lab/record.h"
#include "lab/schema_study.h"

namespace pawl::lab {

// One whole answer.
struct StudyAnswer {
  const RequestRecord* record = nullptr;
  base::Json value;
  AnswerBill bill;
};

// A variant's answers by prompt, in the order of repetitions.
using AnswersByPrompt = std::map<size_t, std::vector<StudyAnswer>>;

template <typename F>
double mean_over(const std::vector<StudyAnswer>& answers, F&& value) {
  double sum = 0;
  for (const StudyAnswer& answer : answers) sum += value(answer);
  return sum / static_cast<double>(answers.size());
}

// Whether two answers say the same in every field of the root that is not left out.
bool says_the_same(const base::Json& a, const base::Json& b, const std::vector<FieldPath>& fields,
                   const std::vector<FieldPath>& left_out);

// Time, tokens and bytes of a variant against full, paired by prompt, into `result`.
void compare_costs(const StudyPlan& plan, const StudyVariant& variant, const AnswersByPrompt& full,
                   const AnswersByPrompt& here, VariantResult& result);

}  // namespace pawl::lab
