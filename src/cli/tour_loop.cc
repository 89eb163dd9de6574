// SPDX-License-Identifier: Apache-2.0
// Tour: the decode loop, traced and then proved by computing it again.
#include <fmt/format.h>

#include <algorithm>

#include "cli/generation.h"
#include "cli/terminal.h"
#include "cli/tour.h"
#include "cli/trace_document.h"
#include "cli/traced_run.h"
#include "probe/trace_verify.h"

namespace pawl::cli {

using base::Result;
using probe::Verdict;

namespace {

constexpr std::string_view kPrompt = "The sea is";
constexpr int64_t kTokens = 24;

// "holds" where all of `names` do, "does not hold" where one fails; what the first of these says.
struct Judged {
  TourVerdict verdict = TourVerdict::kHolds;
  std::string said;
};
Judged judge(const std::vector<Verdict>& verdicts, std::initializer_list<std::string_view> names) {
  Judged judged;
  for (const std::string_view name : names) {
    const auto found = std::find_if(verdicts.begin(), verdicts.end(),
                                    [&](const Verdict& one) { return one.name == name; });
    if (found == verdicts.end()) {
      if (judged.verdict == TourVerdict::kHolds) judged.verdict = TourVerdict::kCannotTell;
      continue;
    }
    if (found->outcome != Verdict::Outcome::kFails) continue;
    judged.verdict = TourVerdict::kFails;
    judged.said = fmt::format(
        "{}: {}{}", name, found->step ? fmt::format("step {}: ", *found->step) : "", found->reason);
    break;
  }
  return judged;
}

std::string checked_of(const std::vector<Verdict>& verdicts, std::string_view name) {
  for (const Verdict& verdict : verdicts) {
    if (verdict.name == name) return verdict.checked;
  }
  return "";
}

bool is_arg_max_everywhere(const probe::Trace& trace) {
  return std::all_of(trace.steps.begin(), trace.steps.end(), [](const probe::TraceStep& step) {
    return !step.selected ||
           (step.row && !step.row->top.empty() && step.row->top.front().id == *step.selected);
  });
}

// The first steps as they came: how long the prefix was, and what was selected.
TourPicture picture_of(const ModelSession& session, const probe::Trace& trace) {
  constexpr size_t kShown = 6;
  TourPicture picture{fmt::format("\"{}\" and what each pass added", kPrompt), {}};
  for (const probe::TraceStep& step : trace.steps) {
    if (!step.selected) continue;
    if (picture.lines.size() == kShown) break;
    picture.lines.push_back({fmt::format("pass {:>2}", step.step),
                             {{static_cast<double>(step.prefix_len), Ink::kFirst}, {1, Ink::kTail}},
                             fmt::format("{:>2} before, +{}", step.prefix_len,
                                         quoted_piece(session.piece(*step.selected)))});
  }
  return picture;
}

Result<probe::Trace> traced(Tour& tour, ModelSession& session) {
  PAWL_TRY(const Prompt prompt,
           tokenize_prompt(std::string(kPrompt), false, *session.runtime, tour.clock()));
  policy::Policy policy = policy::Policy::defaults();
  policy.temperature = 0;
  policy.ignore_eos = true;
  PAWL_TRY(const probe::TraceHeader header, trace_header(session, prompt, policy));
  std::string lines;
  GenerationSink sink(GenerationSink::Output::kNone, false);
  PAWL_TRY_VOID(run_traced(session, header, {kTokens, {}, 5, tour.stop()}, tour.clock(), sink,
                           [&](std::string_view line) -> Result<void> {
                             lines += line;
                             lines += '\n';
                             return {};
                           }));
  return probe::parse_trace(lines);
}

}  // namespace

Result<TourChapterResult> tour_loop(Tour& tour) {
  PAWL_TRY(ModelSession* const session, tour.model());
  tour.tell(0.1, fmt::format("{} tokens, each pass written down", kTokens));
  PAWL_TRY(const probe::Trace trace, traced(tour, *session));
  tour.tell(0.4, "computing every pass again");
  std::vector<Verdict> verdicts = probe::verify_chain(trace);
  if (probe::all_hold(verdicts)) {
    PAWL_TRY(auto computed,
             probe::verify_by_computing(trace, *session->runtime, tour.options().seed()));
    for (Verdict& verdict : computed) verdicts.push_back(std::move(verdict));
  }
  const int64_t tokens = trace.end ? trace.end->selected : 0;
  const int64_t passes = trace.end ? trace.end->passes : 0;
  Judged loop = judge(verdicts, {"chain", "passes", "recomputed", "alone"});
  if (loop.verdict == TourVerdict::kHolds && !is_arg_max_everywhere(trace)) {
    loop = {TourVerdict::kFails, "a step did not select the highest score"};
  }
  const Judged changed = judge(verdicts, {"changed"});

  TourChapterResult result;
  result.pictures.push_back(picture_of(*session, trace));
  result.findings.push_back(
      {"2a", "one output token is one pass",
       "Each step runs over the prefix, selects one token and appends it; nothing is revised.",
       fmt::format("{} passes, {} tokens", passes, tokens),
       loop.verdict == TourVerdict::kHolds
           ? fmt::format("{} passes for {} tokens; the prefix digests chain, and every step gave "
                         "the same logits and token when computed again: {}.",
                         passes, tokens, checked_of(verdicts, "alone"))
           : loop.said,
       loop.verdict});
  result.findings.push_back(
      {"2b", "token n needs 1 to n-1",
       "Token n needs the prefix 1 to n-1: no token depends on a later one, all depend on earlier "
       "ones.",
       "one token changed",
       changed.verdict == TourVerdict::kHolds ? checked_of(verdicts, "changed") + "."
                                              : changed.said,
       changed.verdict});
  result.documents.push_back(trace_document(trace, verdicts));
  return result;
}

}  // namespace pawl::cli
