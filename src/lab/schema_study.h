// SPDX-License-Identifier: Apache-2.0
// What the fields of a schema cost and what happens to the others when one is not asked for: the
// same prompts with the schema as it is, with each field left out, with some not asked for at all,
// with these generated and stripped afterwards, and in another order. Every request is sent; what
// follows from which is decided from the records alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/binomial.h"
#include "base/json.h"
#include "base/result.h"
#include "lab/cancel_check.h"
#include "lab/conditions.h"
#include "lab/openai_client.h"
#include "lab/plan.h"
#include "lab/schema_bill.h"
#include "lab/schema_fields.h"
#include "lab/schema_lint.h"

namespace pawl::lab {

// In a prompt it stands for the fields that are asked for.
inline constexpr std::string_view kFieldsMark = "{fields}";

struct StudyPrompt {
  std::string text;
  base::Json expected;  // values that are known to be right, an object; or null
};
// A line each: a text, or an object {"prompt", "expected"}. Error kBadFile, `where` the line.
base::Result<std::vector<StudyPrompt>> parse_study_prompts(std::string_view text);

enum class VariantKind { kFull, kStripped, kWithout, kNotAsked, kReordered };

struct StudyVariant {
  VariantKind kind = VariantKind::kFull;
  std::string name;  // "full", "stripped", "without score", "not asked", "reordered"
  base::Json schema;
  std::vector<FieldPath> left_out;  // of the schema, or of the finished answer
  std::string told;                 // what stands for kFieldsMark
};

struct StudyOptions {
  std::vector<FieldPath> drop;  // what is not asked for, and stripped; empty: chosen by the schema
  std::vector<FieldPath> each;  // left out one at a time; empty: every field of the root
  std::vector<std::string> variants;  // by their first word; empty: all
};

struct StudyPlan {
  std::vector<StudyVariant> variants;  // the first is the full one
  std::vector<FieldPath> fields;       // of the full schema, those of the root
  std::vector<FieldPath> drop;
  std::string drop_because;  // why these
  // Decisions and reasoning of the root, where there are both.
  std::vector<FieldPath> decisions, reasoning;
  bool is_decision_first = false;  // in the full schema
  std::vector<std::string> order;  // of the reordered one
  std::vector<std::string> notes;  // what was changed to be comparable

  const StudyVariant* find(VariantKind kind) const;
};
// Open objects are closed, or a field left out could come all the same. Errors of
// fields_of_schema() and without_field(); kInvalidArgument names a field or a variant.
base::Result<StudyPlan> plan_study(const base::Json& schema, std::span<const StudyPrompt> prompts,
                                   const StudyOptions& options);

struct StudyRequest {
  size_t prompt = 0, variant = 0;  // indices
  int64_t repetition = 0;
  bool is_warm_up = false;
};
// Prompts and, within each, variants in random orders, f(seed). One request of each variant before,
// which compiles its grammar.
std::vector<StudyRequest> study_requests(size_t variants, size_t prompts, int64_t repetitions,
                                         uint64_t seed);
// Those that `done` does not hold as successes; warm-ups are always done again.
std::vector<StudyRequest> remaining_requests(const StudyPlan& plan,
                                             std::span<const StudyRequest> requests,
                                             std::span<const RequestRecord> done);

struct StudyRun {
  int64_t max_tokens = 512;
  int64_t concurrency = 1;
  int64_t first_index = 0;  // of the records
  uint64_t salt = 0;        // another one in each run
  bool salts_cache = false;
  bool asks_tokens = false;  // ids, times and which were forced: for servers that know the members
};
// As run_plan().
base::Result<void> run_study(OpenAiClient& client, const StudyPlan& plan,
                             std::span<const StudyPrompt> prompts,
                             std::span<const StudyRequest> requests, const StudyRun& run,
                             const base::Clock& clock, const RunEvents& events);

// How often a field's value is the same in two answers to the same prompt.
struct Agreement {
  FieldPath field;
  int64_t n = 0, same = 0;
  base::Interval changed;                      // share of other values, 95 %, Clopper–Pearson
  std::optional<double> mean_full, mean_here;  // where all values are numbers
  double changed_share() const {
    return n > 0 ? static_cast<double>(n - same) / static_cast<double>(n) : 0;
  }
};
// How often it is the one that is known to be right.
struct Rightness {
  FieldPath field;
  int64_t n = 0, right = 0;
  base::Interval interval;
};

// What leaving out saved, measured over what the bill says that it costs, both without the prompt.
struct OverBill {
  int64_t n = 0;   // prompts
  Estimate ratio;  // of 95 %
  Interval sure;   // of kSure
};

struct VariantResult {
  VariantKind kind = VariantKind::kFull;
  std::string name;
  std::vector<FieldPath> left_out;
  int64_t asked = 0, answers = 0;  // answers: whole ones
  int64_t failed = 0, incomplete = 0, no_answer_budget = 0;
  int64_t pairs = 0;                              // prompts with a whole answer here and in full
  double tokens = 0, bytes = 0;                   // of an answer; bytes of what is handed on
  Estimate ms;                                    // sent → closed, mean over prompts
  std::optional<Estimate> saved_ms, saved_share;  // against full, paired by prompt
  std::optional<double> saved_bytes_share;
  // Of what is left out: what the bill of the full answers says, and measured over it.
  std::optional<double> billed_ms, billed_share;
  std::optional<OverBill> over_bill;  // of all prompts
  // Of the prompts whose answers say the same in every other field: like beside like.
  std::optional<OverBill> alike;
  // Of all, the others' change of length taken out at the price of their tokens.
  std::optional<OverBill> at_length;
  Interval sure_saved;               // saved_ms, of kSure
  double rest_tokens = 0;            // chosen ones that the rest became longer
  double start_ms = 0;               // what the prompt took longer
  std::vector<Agreement> agreement;  // of what both have
  std::vector<Rightness> rightness;
};

struct Study {
  Bill bill;                    // of all whole full answers
  std::vector<Agreement> self;  // full against itself
  std::vector<VariantResult> variants;
  std::vector<CancelVerdict> verdicts;
  std::vector<base::Json> answers;  // to the full schema, for the lint
  int64_t prompts = 0;

  bool has_failed() const;
  const VariantResult* find(VariantKind kind) const;
};
// Of the records of a plan; those of other arms are passed over. Nothing where no full answer came.
std::optional<Study> conclude_study(const StudyPlan& plan, std::span<const StudyPrompt> prompts,
                                    std::span<const RequestRecord> records);

// Adds the verdicts; a pure function, for tests.
//   complete   the bill holds every token that the server counted
//   stripped   stripping saves no time: fails where it surely saved or cost more than 1 %
//   not asked  saves what the bill says, within a tenth, where the other fields say the same; where
//              they hardly ever do, their change of length aside
//   order      what is decided before the reasoning does not depend on it: fails at one difference
void judge_study(const StudyPlan& plan, std::span<const RequestRecord> records, Study& study);

base::Json study_json(const StudyPlan& plan, const Study& study, const base::Json& schema,
                      const Lint* lint, const Conditions& conditions);

}  // namespace pawl::lab
