// SPDX-License-Identifier: Apache-2.0
// Tour: a long prompt with a short answer against a short prompt with a long one.
#include <fmt/format.h>

#include "cli/sweep_report.h"
#include "cli/terminal.h"
#include "cli/tour.h"
#include "lab/compare.h"

namespace pawl::cli {

using base::Result;
using lab::Comparison;
using lab::Slower;

namespace {

// The shapes of the claim, 20,000 in and 50 out against 200 in and 2,000 out, at a twentieth: the
// order turns at the same exchange rate.
constexpr lab::Shape kLongIn = {1000, 3}, kLongOut = {20, 100};
constexpr int64_t kRounds = 5;

std::string name_of(const lab::Shape& shape) {
  return fmt::format("{:.0f} in, {:.0f} out", shape.prompt, shape.output);
}

TourPicture picture_of(const Comparison& comparison) {
  TourPicture picture{"ms before the first text, and after it", {}};
  for (const auto& [shape, half] :
       {std::pair(kLongIn, &comparison.a), std::pair(kLongOut, &comparison.b)}) {
    picture.lines.push_back({name_of(shape),
                             {{half->before_ms, Ink::kFirst}, {half->after_ms, Ink::kTail}},
                             fmt::format("{:.0f} + {:.0f}", half->before_ms, half->after_ms)});
  }
  return picture;
}

std::string measured_of(const Comparison& comparison) {
  const std::string rate =
      comparison.exchange ? fmt::format(" (here {})", shown_estimate(*comparison.exchange)) : "";
  const std::string turn =
      fmt::format("the order turns where an output token is worth {:.1f} prompt tokens{}",
                  comparison.flips_at.value_or(0), rate);
  const std::string ratio = shown_estimate(comparison.ratio);
  switch (comparison.slower) {
    case Slower::kB:
      return fmt::format("The long answer takes longer: the long prompt needs {} of its time; {}.",
                         ratio, turn);
    case Slower::kA:
      return fmt::format(
          "The long prompt takes longer, {} times the long answer: on this hardware an output "
          "token "
          "is cheap, and {}.",
          ratio, turn);
    case Slower::kCannotTell:
      break;
  }
  return fmt::format("Both take equally long within the noise, ratio {}: {}.", ratio, turn);
}

}  // namespace

Result<TourChapterResult> tour_shapes(Tour& tour) {
  PAWL_TRY(LabSession* const session, tour.server());
  PAWL_TRY_VOID(session->check_context(static_cast<int64_t>(kLongIn.prompt),
                                       static_cast<int64_t>(kLongIn.output)));
  const uint64_t seed = tour.options().seed();
  const auto plan = lab::plan_comparison(kLongIn, kLongOut, kRounds, 1, seed);
  PAWL_TRY(const auto records, tour.ask(plan, 0, 1, "two shapes in turn"));
  const auto comparison = lab::conclude_comparison(records, seed);
  if (!comparison) {
    return base::Error{base::ErrorCode::kNetwork, "fewer than two requests of each shape succeeded",
                       session->conditions.endpoint};
  }
  TourVerdict verdict = TourVerdict::kCannotTell;
  if (comparison->slower != Slower::kCannotTell) {
    verdict =
        comparison->slower == comparison->by_output ? TourVerdict::kHolds : TourVerdict::kFails;
  }
  TourChapterResult result;
  result.pictures.push_back(picture_of(*comparison));
  result.findings.push_back({"4a", "output length decides",
                             "Between two requests on one deployment output length decides: told "
                             "elsewhere, 20,000 in and "
                             "50 out ends ten times sooner than 200 in and 2,000 out.",
                             fmt::format("{:.2f} × as long", comparison->ratio.value),
                             measured_of(*comparison), verdict});
  result.documents.push_back(lab::comparison_json(*comparison, session->conditions));
  return result;
}

}  // namespace pawl::cli
