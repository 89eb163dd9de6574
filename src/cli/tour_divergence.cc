// SPDX-License-Identifier: Apache-2.0
// Tour: greedy answers part after one early word is changed.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cli/diverge_report.h"
#include "cli/prompt_input.h"
#include "cli/terminal.h"
#include "cli/tour.h"
#include "cli/version.h"

namespace pawl::cli {

using base::Json;
using base::Result;

namespace {

constexpr int64_t kPrompts = 24;
constexpr int64_t kTokens = 40;
constexpr double kClaimed = 0.92;

std::string text_of(const ModelSession& session, std::span<const base::TokenId> ids) {
  std::string text;
  for (const base::TokenId id : ids) session.runtime->tokenizer().append_piece(id, false, text);
  return text;
}

// One answer and the changed one, from the last words before the change on.
void show_example(const ModelSession& session, const std::vector<probe::DivergeCase>& cases,
                  TourPicture& picture) {
  constexpr size_t kBehind = 14;
  const auto found =
      std::find_if(cases.begin(), cases.end(), [](const auto& one) { return one.skipped.empty(); });
  if (found == cases.end()) return;
  const auto at = static_cast<size_t>(found->changed_at);
  for (const auto* ids : {&found->answer, &found->changed}) {
    const auto behind = std::span(*ids).subspan(at + 1);
    const std::string line =
        fmt::format("{}[{}]{}", text_of(session, std::span(*ids).first(at)),
                    text_of(session, std::span(*ids).subspan(at, 1)),
                    text_of(session, behind.first(std::min(kBehind, behind.size()))));
    picture.lines.push_back({"", {}, visible(line) + " …"});
  }
}

TourPicture picture_of(const ModelSession& session, const DivergeOutcome& outcome,
                       const std::vector<probe::DivergeCase>& cases) {
  TourPicture picture{"parted within k tokens behind the changed word", {}};
  for (const int within : {1, 2, 4, 8, kDefaultWithin}) {
    const probe::Share& share = outcome.curve.points[static_cast<size_t>(within) - 1].first;
    picture.lines.push_back({fmt::format("k = {:>2}", within),
                             {{share.value(), within == kDefaultWithin ? Ink::kTail : Ink::kFirst}},
                             fmt::format("{:>3.0f} %  [{:.0f}, {:.0f}]", share.value() * 100,
                                         share.interval.low * 100, share.interval.high * 100)});
  }
  show_example(session, cases, picture);
  return picture;
}

Json conditions_of(const ModelSession& session, const probe::DivergeOptions& options) {
  Json conditions;
  conditions["pawl"] = kVersion;
  conditions["model"] = session.name;
  conditions["tokens"] = options.tokens;
  conditions["seed"] = options.seed;
  return conditions;
}

}  // namespace

Result<TourChapterResult> tour_divergence(Tour& tour) {
  PAWL_TRY(ModelSession* const session, tour.model());
  probe::DivergeOptions options;
  options.tokens = kTokens;
  options.seed = tour.options().seed();
  const std::vector<std::string> prompts = built_in_prompts();
  std::vector<int64_t> indices(std::min<size_t>(kPrompts, prompts.size()));
  std::iota(indices.begin(), indices.end(), 0);
  std::vector<probe::DivergeCase> cases;
  tour.tell(0, "greedy answers");
  PAWL_TRY_VOID(probe::diverge(
      *session->runtime, prompts, indices, options, tour.clock(), tour.stop(),
      [&](const probe::DivergeCase& one) -> Result<void> {
        cases.push_back(one);
        tour.tell(static_cast<double>(cases.size()) / static_cast<double>(indices.size()),
                  fmt::format("answer {} of {}", cases.size(), indices.size()));
        return {};
      }));
  const DivergeOutcome outcome = diverge_outcome(cases, options.tokens);
  const probe::Share& share = outcome.curve.points[kDefaultWithin - 1].first;
  const bool agrees = share.interval.low <= kClaimed && kClaimed <= share.interval.high;

  TourChapterResult result;
  result.pictures.push_back(picture_of(*session, outcome, cases));
  result.findings.push_back(
      {"2c", "an early change parts the rest",
       "An early change makes the rest diverge: told elsewhere, 92 % within 12 tokens.",
       share.trials == 0 ? "nothing compared"
                         : fmt::format("{:.0f} % within 12", share.value() * 100),
       fmt::format("{} of {} answers parted within {} tokens: {:.0f} % ({:.0f} to {:.0f}), beside "
                   "92 %. Models differ; the interval decides.",
                   share.hits, share.trials, kDefaultWithin, share.value() * 100,
                   share.interval.low * 100, share.interval.high * 100),
       share.trials == 0 ? TourVerdict::kCannotTell
       : agrees          ? TourVerdict::kHolds
                         : TourVerdict::kDiffers});
  result.documents.push_back(
      diverge_json(*session, conditions_of(*session, options), outcome, kDefaultWithin, true));
  return result;
}

}  // namespace pawl::cli
