// SPDX-License-Identifier: Apache-2.0
// Tour: what a field of a structured answer costs, and what leaving it out saves and changes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/schema_report.h"
#include "cli/tour.h"
#include "lab/schema_study.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;
using lab::Outcome;
using lab::Study;
using lab::VariantKind;
using lab::VariantResult;

namespace {

constexpr std::string_view kSchema = R"({"type":"object","additionalProperties":false,
  "required":["reasoning","sentiment","score"],"properties":{
    "reasoning":{"type":"string","maxLength":120},
    "sentiment":{"enum":["positive","negative","mixed"]},
    "score":{"type":"integer","minimum":1,"maximum":5}}})";
constexpr std::string_view kAsk =
    " - Rate this review: give your reasoning, the sentiment, and a score from 1 (worst) to 5.";
constexpr std::array<std::string_view, 8> kReviews = {
    "The kettle boils fast, but the lid broke after a week.",
    "Best headphones I ever had, and the battery lasts for days.",
    "It arrived late and the box was wet. The lamp itself is fine.",
    "Do not buy this chair. The leg snapped on the first evening.",
    "A solid knife for the price, though it needs sharpening often.",
    "The app crashes each time I open a second photo.",
    "My daughter loves this bicycle and rides it every day.",
    "The soup tasted of nothing, and the waiter forgot our drinks.",
};

TourVerdict verdict_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kHolds:
      return TourVerdict::kHolds;
    case Outcome::kFails:
      return TourVerdict::kFails;
    case Outcome::kUnverified:
      break;
  }
  return TourVerdict::kCannotTell;
}

const lab::CancelVerdict* find(const Study& study, std::string_view name) {
  const auto found = std::find_if(study.verdicts.begin(), study.verdicts.end(),
                                  [&](const auto& one) { return one.name == name; });
  return found == study.verdicts.end() ? nullptr : &*found;
}

std::string percent(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

// Neither holds where one does not.
TourVerdict both(const lab::CancelVerdict* a, const lab::CancelVerdict* b) {
  if (a == nullptr || b == nullptr) return TourVerdict::kCannotTell;
  if (a->outcome == Outcome::kFails || b->outcome == Outcome::kFails) return TourVerdict::kFails;
  return verdict_of(a->outcome == Outcome::kHolds ? b->outcome : a->outcome);
}

TourPicture picture_of(const Study& study) {
  TourPicture picture{"ms of an answer: the prompt, reasoning, what is asked beside it", {}};
  const double reasoning =
      study.bill.find({"reasoning"}) ? study.bill.find({"reasoning"})->ms.value : 0;
  for (const VariantResult& variant : study.variants) {
    const bool has_reasoning =
        variant.kind == VariantKind::kFull || variant.kind == VariantKind::kStripped;
    if (variant.kind == VariantKind::kReordered) continue;
    const double start = study.bill.start_ms.value;
    const double part = has_reasoning ? reasoning : 0;
    const double rest = std::max(0.0, variant.ms.value - start - part);
    picture.lines.push_back(
        {std::string(variant.kind == VariantKind::kFull       ? "all of it"
                     : variant.kind == VariantKind::kStripped ? "stripped after"
                                                              : "not asked for"),
         {{start, Ink::kFirst}, {part, Ink::kTail}, {rest, Ink::kGood}},
         fmt::format("{:.0f} ms, {:.0f} tokens, {:.0f} bytes", variant.ms.value, variant.tokens,
                     variant.bytes)});
  }
  return picture;
}

TourFinding savings_finding(const Study& study) {
  TourFinding finding{"8a",
                      "not asking saves, stripping not",
                      "Not asking for a field is the largest lever; stripping it afterwards saves "
                      "only the body.",
                      "not measured",
                      "No answer came both ways.",
                      TourVerdict::kCannotTell};
  const VariantResult *const without = study.find(VariantKind::kNotAsked),
                             *const stripped = study.find(VariantKind::kStripped);
  if (without == nullptr || stripped == nullptr || !without->over_bill || !stripped->saved_share) {
    return finding;
  }
  finding.figure = fmt::format("{} saved; stripped {}", percent(without->saved_share->value),
                               percent(stripped->saved_share->value));
  finding.measured = fmt::format(
      "By the bill 'reasoning' is {} of the time. Not asking for it saved {} ({:.2f} times the "
      "bill, {:.2f} to {:.2f}); stripping it from the finished answer saved {} of the bytes and "
      "{:.1f} % of the time ({:.1f} to {:.1f}).",
      percent(*without->billed_share), percent(without->saved_share->value),
      without->over_bill->ratio.value, without->over_bill->ratio.interval.low,
      without->over_bill->ratio.interval.high, percent(*stripped->saved_bytes_share),
      100 * stripped->saved_share->value, 100 * stripped->saved_share->interval.low,
      100 * stripped->saved_share->interval.high);
  finding.verdict = both(find(study, "not asked"), find(study, "stripped"));
  return finding;
}

std::string changed_text(const std::vector<lab::Agreement>& agreement) {
  std::string text;
  for (const lab::Agreement& one : agreement) {
    if (one.field == lab::FieldPath{"reasoning"}) continue;
    text += fmt::format("{}'{}' in {} of {} ({:.0f} to {:.0f} %)", text.empty() ? "" : ", ",
                        lab::shown_path(one.field), one.n - one.same, one.n, 100 * one.changed.low,
                        100 * one.changed.high);
  }
  return text;
}

TourFinding changes_finding(const Study& study) {
  TourFinding finding{"8b",
                      "skipped tokens were computed with",
                      "Skipped tokens were part of the computation: later fields can change.",
                      "not measured",
                      "No answer came both ways.",
                      TourVerdict::kCannotTell};
  const VariantResult* const without = study.find(VariantKind::kNotAsked);
  if (without == nullptr || without->pairs == 0) return finding;
  int64_t n = 0, changed = 0, self = 0, self_n = 0;
  for (const lab::Agreement& one : without->agreement) n += one.n, changed += one.n - one.same;
  for (const lab::Agreement& one : study.self) self += one.n - one.same, self_n += one.n;
  finding.figure = fmt::format("{} of {} values changed", changed, n);
  finding.measured = fmt::format(
      "Without the reasoning another value came for {}; the full answer "
      "asked twice differed in {} of {} fields.",
      changed_text(without->agreement), self, self_n);
  if (changed > self) finding.verdict = TourVerdict::kHolds;
  return finding;
}

TourFinding order_finding(const Study& study) {
  TourFinding finding{"8c",
                      "a score before its reasoning",
                      "A score before its reasoning pays for both and has the quality of neither.",
                      "not measured",
                      "No answer came in both orders.",
                      TourVerdict::kCannotTell};
  const VariantResult* const reordered = study.find(VariantKind::kReordered);
  const lab::CancelVerdict* const order = find(study, "order");
  if (reordered == nullptr || order == nullptr || reordered->pairs == 0) return finding;
  const VariantResult& full = study.variants.front();
  finding.figure =
      fmt::format("{} of the time of both", percent(reordered->ms.value / full.ms.value));
  finding.measured = fmt::format(
      "In that order an answer takes {} of the time with the reasoning first. {}: what comes "
      "behind cannot have moved them. Against reasoning first another value came for {}.",
      percent(reordered->ms.value / full.ms.value), order->reason,
      changed_text(reordered->agreement));
  finding.verdict = verdict_of(order->outcome);
  return finding;
}

}  // namespace

Result<TourChapterResult> tour_schema(Tour& tour) {
  PAWL_TRY(LabSession* const session, tour.server());
  PAWL_TRY(const Json schema, base::parse_json(kSchema));
  std::vector<lab::StudyPrompt> prompts;
  for (const std::string_view review : kReviews) {
    prompts.push_back({std::string(review) + std::string(kAsk), Json()});
  }
  lab::StudyOptions options;
  options.each = {{"reasoning"}};
  PAWL_TRY(const lab::StudyPlan plan, lab::plan_study(schema, prompts, options));
  const auto requests =
      lab::study_requests(plan.variants.size(), prompts.size(), 1, tour.options().seed());
  lab::StudyRun run = study_run(*session);
  run.max_tokens = 160;
  std::vector<lab::RequestRecord> records;
  lab::RunEvents events;
  events.should_stop = [&] { return tour.stop().stop_requested(); };
  events.record = [&](const lab::RequestRecord& record) -> Result<void> {
    records.push_back(record);
    tour.tell(
        static_cast<double>(records.size()) / static_cast<double>(requests.size()),
        fmt::format("{}, request {} of {}", record.asked.arm, records.size(), requests.size()));
    return {};
  };
  tour.tell(0, "the same reviews with and without reasoning");
  PAWL_TRY_VOID(
      lab::run_study(*session->client, plan, prompts, requests, run, tour.clock(), events));
  const auto study = lab::conclude_study(plan, prompts, records);
  if (!study) {
    return Error{ErrorCode::kNetwork, "no whole answer came", session->conditions.endpoint};
  }
  PAWL_TRY(const lab::Lint lint, lab::lint_schema(schema, study->answers));
  lab::Conditions conditions = session->conditions;
  conditions.cache = run.salts_cache ? "the same prompts, cache salts" : "the same prompts again";
  conditions.prompt_counting = "usage";
  TourChapterResult chapter;
  chapter.pictures = {picture_of(*study)};
  chapter.findings = {savings_finding(*study), changes_finding(*study), order_finding(*study)};
  chapter.documents.push_back(lab::study_json(plan, *study, schema, &lint, conditions));
  return chapter;
}

}  // namespace pawl::cli
