// SPDX-License-Identifier: Apache-2.0
// Tour: prefill against decode, and what keeping keys and values is worth.
#include <fmt/format.h>

#include <algorithm>

#include "cli/phases_report.h"
#include "cli/terminal.h"
#include "cli/tour.h"
#include "model/model.h"

namespace pawl::cli {

using base::Result;
using probe::PhasesAnalysis;
using probe::PhasesRow;

namespace {

// All of the named verdicts; one that fails decides, then one that stays open.
TourVerdict judge(const PhasesAnalysis& analysis, std::initializer_list<std::string_view> names) {
  TourVerdict verdict = TourVerdict::kHolds;
  for (const probe::PhasesVerdict& one : analysis.verdicts) {
    if (std::find(names.begin(), names.end(), one.name) == names.end()) continue;
    if (one.holds.has_value() && !*one.holds) return TourVerdict::kFails;
    if (!one.holds.has_value()) verdict = TourVerdict::kCannotTell;
  }
  return verdict;
}

std::string reason_of(const PhasesAnalysis& analysis, std::string_view name) {
  for (const probe::PhasesVerdict& one : analysis.verdicts) {
    if (one.name == name) return one.reason;
  }
  return "";
}

TourPicture rates_of(const PhasesAnalysis& analysis) {
  TourPicture picture{"tokens per second", {}};
  for (const PhasesRow& row : analysis.rows) {
    picture.lines.push_back({fmt::format("prefill of {:>3}", row.prompt),
                             {{row.prefill.tokens_per_s, Ink::kFirst}},
                             fmt::format("{:.0f}", row.prefill.tokens_per_s)});
  }
  const PhasesRow& last = analysis.rows.back();
  picture.lines.push_back({fmt::format("decode at {:>3}", last.prompt),
                           {{last.decode.tokens_per_s, Ink::kTail}},
                           fmt::format("{:.0f}", last.decode.tokens_per_s)});
  return picture;
}

TourPicture costs_of(const PhasesAnalysis& analysis) {
  TourPicture picture{"ms for one output token, with keys and values kept and without", {}};
  for (const PhasesRow& row : analysis.rows) {
    picture.lines.push_back({fmt::format("kept, at {:>3}", row.prompt),
                             {{row.decode_ms.value, Ink::kTail}},
                             fmt::format("{:.1f}", row.decode_ms.value)});
    picture.lines.push_back({fmt::format("without, {:>3}", row.prompt),
                             {{row.uncached_ms.value, Ink::kWarn}},
                             fmt::format("{:.1f}", row.uncached_ms.value)});
  }
  return picture;
}

}  // namespace

Result<TourChapterResult> tour_phases(Tour& tour) {
  PAWL_TRY(ModelSession* const session, tour.model());
  probe::PhasesOptions options;
  options.prompts = {32, 128, 512};
  options.rounds = 3;
  options.seed = tour.options().seed();
  PAWL_TRY(const probe::PhasesSamples samples,
           probe::measure_phases(
               *session->runtime, options, tour.clock(), tour.stop(),
               [&](const probe::PhasesProgress& now) {
                 tour.tell(static_cast<double>(now.done) / static_cast<double>(now.total),
                           now.round == 0 ? std::string("warm-up")
                                          : fmt::format("round {} of {}, prompt {}", now.round,
                                                        options.rounds, now.prompt));
               }));
  const PhasesAnalysis analysis = probe::analyse(samples, options.seed);
  const PhasesRow& last = analysis.rows.back();

  TourChapterResult result;
  result.pictures = {rates_of(analysis), costs_of(analysis)};
  const double faster = last.prefill.tokens_per_s / last.decode.tokens_per_s;
  result.findings.push_back(
      {"3a", "the prompt goes in parallel",
       "All prompt positions are computed in one parallel pass under a causal mask; their keys and "
       "values are kept.",
       fmt::format("prefill {:.1f} × decode", faster),
       fmt::format("Prefill does {:.0f} tokens per second, decode {:.0f}; {}.",
                   last.prefill.tokens_per_s, last.decode.tokens_per_s,
                   reason_of(analysis, "cache")),
       judge(analysis, {"parallel", "cache"})});
  result.findings.push_back(
      {"3b", "compute bound, bandwidth bound",
       "Prefill is bound by compute, decode by bandwidth: told of data-centre hardware, one output "
       "token is worth about 100 prompt tokens.",
       fmt::format("1 out = {:.1f} in", last.exchange.value),
       fmt::format(
           "Prefill reaches {:.0f} % of the arithmetic measured here, decode {:.0f} % of the "
           "bandwidth; one output token is worth {:.1f} prompt tokens ({:.1f} to {:.1f}). Prefill "
           "{}; decode {}.",
           last.prefill.of_int8.value * 100, last.decode.of_read.value * 100, last.exchange.value,
           last.exchange.low(), last.exchange.high(),
           fmt::format("is bound by {}", probe::bound_name(last.prefill.bound)),
           fmt::format("by {}", probe::bound_name(last.decode.bound))),
       judge(analysis, {"prefill", "decode"})});
  result.documents.push_back(phases_json({*session, options, samples, analysis}));
  return result;
}

}  // namespace pawl::cli
