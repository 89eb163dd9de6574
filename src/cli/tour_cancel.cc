// SPDX-License-Identifier: Apache-2.0
// Tour: an answer that is left, its bill, and the way to the tokens that were not waited for.
#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal.h"
#include "cli/tour.h"
#include "cli/version.h"
#include "lab/cancel_check.h"

namespace pawl::cli {

using base::Result;
using lab::CancelResult;
using lab::CancelVerdict;
using lab::Outcome;

namespace {

constexpr int64_t kAfter = 75, kOf = 200;  // as 300 of 800

struct Judged {
  TourVerdict verdict = TourVerdict::kHolds;
  std::string said;  // of each, one behind the other
};
Judged judge(const CancelResult& result, std::initializer_list<std::string_view> names) {
  Judged judged;
  for (const CancelVerdict& verdict : result.verdicts) {
    if (std::find(names.begin(), names.end(), verdict.name) == names.end()) continue;
    judged.said += (judged.said.empty() ? "" : "; ") + verdict.reason;
    if (verdict.outcome == Outcome::kFails) judged.verdict = TourVerdict::kFails;
    if (verdict.outcome == Outcome::kUnverified && judged.verdict == TourVerdict::kHolds) {
      judged.verdict = TourVerdict::kCannotTell;
    }
  }
  judged.said += '.';
  return judged;
}

TourPicture bill_of(const CancelResult& result) {
  const int64_t decoded = result.decoded.value_or(result.whole_tokens);
  const int64_t extra = std::max<int64_t>(0, decoded - result.landed);
  const auto number = [](int64_t tokens) { return static_cast<double>(tokens); };
  TourPicture picture{"the bill, in output tokens: landed, decoded beside that, saved", {}};
  picture.lines.push_back({"whole",
                           {{number(result.whole_tokens), Ink::kFirst}},
                           fmt::format("{}", result.whole_tokens)});
  picture.lines.push_back(
      {"left",
       {{number(result.landed), Ink::kFirst},
        {number(extra), Ink::kWarn},
        {number(result.saved_tokens.value_or(0)), Ink::kSoft}},
       fmt::format("{} + {} + {} saved", result.landed, extra, result.saved_tokens.value_or(0))});
  return picture;
}

TourPicture routes_of(const CancelResult& result) {
  TourPicture picture{"the missing end, by every route: passes, prefix digest, text", {}};
  for (const lab::SuffixRoute& route : result.routes) {
    picture.lines.push_back(
        {route.name,
         {},
         fmt::format("{:>4}  {}  {}",
                     route.forward_passes ? std::to_string(*route.forward_passes) : "–",
                     route.prompt_sha256.substr(0, 8), visible(route.text))});
  }
  return picture;
}

}  // namespace

Result<TourChapterResult> tour_cancel(Tour& tour) {
  PAWL_TRY(LabSession* const session, tour.server());
  lab::CancelOptions options;
  options.prompt = "Tell a long story about a lighthouse and the people who keep it.";
  options.after = kAfter;
  options.of = kOf;
  constexpr double kSteps = 7;
  double step = 0;
  auto checked = lab::check_cancel(
      session->client->endpoint(), options, tour.clock(),
      [&](std::string_view what) { tour.tell(std::min(1.0, step++ / kSteps), what); },
      [&] { return tour.stop().stop_requested(); });
  if (!checked.ok()) return std::move(checked).error();
  CancelResult& result = *checked;
  result.conditions.client_version = kVersion;
  const Judged stopped = judge(result, {"left", "stopped", "seconds"});
  const Judged suffix = judge(result, {"suffix"});
  const Judged counted = judge(result, {"counts", "usage"});

  TourChapterResult chapter;
  chapter.pictures = {bill_of(result), routes_of(result)};
  chapter.findings.push_back(
      {"7a", "billing follows compute",
       "Billing follows compute, a cancelled stream costs what ran: told elsewhere, leaving at 300 "
       "of 800 saves 500 tokens and nine seconds.",
       result.saved_tokens ? fmt::format("{} tokens, {:.1f} s saved", *result.saved_tokens,
                                         result.saved_s.value_or(0))
                           : "nothing known",
       stopped.said, stopped.verdict});
  chapter.findings.push_back({"7b", "no end without its beginning",
                              "No suffix without what comes before it: token 750 needs 1 to 749.",
                              fmt::format("{} routes, each computed", result.routes.size()),
                              suffix.said, suffix.verdict});
  chapter.findings.push_back(
      {"7c", "no usage on what was left",
       "The usage event never comes on an aborted stream: who leaves has to count what landed.",
       fmt::format("{} counted, {} recorded", result.landed,
                   result.decoded ? std::to_string(*result.decoded) : "–"),
       counted.said, counted.verdict});
  chapter.documents.push_back(lab::cancel_json(result));
  return chapter;
}

}  // namespace pawl::cli
