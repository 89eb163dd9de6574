// SPDX-License-Identifier: Apache-2.0
#include "cli/diverge_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "model/model.h"
#include "probe/machine.h"

namespace pawl::cli {

using base::Json;

namespace {

// The claim that the result is put beside.
constexpr int kClaimedWithin = kDefaultWithin;
constexpr double kClaimedShare = 0.92;

std::string_view beside_claim(const probe::Share& share) {
  if (share.trials == 0) return "nothing compared";
  const bool agrees = share.interval.low <= kClaimedShare && kClaimedShare <= share.interval.high;
  return agrees ? "agrees" : "differs here";
}

Json share_json(const probe::Share& share) {
  Json json;
  json["count"] = share.hits;
  json["of"] = share.trials;
  json["share"] = share.trials > 0 ? Json(share.value()) : Json();
  json["low"] = share.interval.low;
  json["high"] = share.interval.high;
  return json;
}

std::string shown(const probe::Share& share) {
  return fmt::format("{:5.1f} %  [{:5.1f}, {:5.1f}]", share.value() * 100, share.interval.low * 100,
                     share.interval.high * 100);
}

}  // namespace

DivergeOutcome diverge_outcome(const std::vector<probe::DivergeCase>& cases, int64_t tokens) {
  DivergeOutcome outcome;
  for (const probe::DivergeCase& one : cases) {
    if (!one.skipped.empty()) {
      outcome.skipped.push_back(&one);
      continue;
    }
    const auto after = static_cast<size_t>(one.changed_at) + 1;
    const auto a = std::span(one.answer).subspan(after);
    const auto b = std::span(one.changed).subspan(after);
    // Up to where both are over.
    const auto longest = static_cast<int64_t>(std::max(a.size(), b.size()));
    outcome.compared.push_back(
        probe::compare(a, b, static_cast<int>(std::min(tokens - one.changed_at - 1, longest))));
  }
  outcome.curve = probe::curve_of(outcome.compared, kMostWithin);
  return outcome;
}

Json diverge_json(const ModelSession& session, const Json& header, const DivergeOutcome& outcome,
                  int64_t within, bool is_whole) {
  Json document;
  document["kind"] = "diverge";
  document["model"] = session.name;
  Json& conditions = document["conditions"];
  for (const auto& [key, value] : *header.as_object()) conditions[key] = value;
  conditions["sampling"] = "greedy";
  conditions["cpu"] = probe::cpu_name();
  conditions["threads"] = session.runtime->pool().threads();
  conditions["isa"] = session.runtime->kernels().name;
  document["is_whole"] = is_whole;
  document["compared"] = outcome.compared.size();
  document["skipped"] = Json::array();
  for (const auto* one : outcome.skipped) {
    Json skipped;
    skipped["prompt"] = one->prompt;
    skipped["reason"] = one->skipped;
    document["skipped"].push_back(std::move(skipped));
  }
  document["curve"] = Json::array();
  for (const auto& point : outcome.curve.points) {
    Json json;
    json["within"] = point.within;
    json["first"] = share_json(point.first);
    json["lasting"] = share_json(point.lasting);
    document["curve"].push_back(std::move(json));
  }
  const auto& asked = outcome.curve.points[static_cast<size_t>(within) - 1];
  document["within"] = within;
  document["diverged"] = share_json(asked.first);
  document["diverged_lasting"] = share_json(asked.lasting);
  document["meets"]["run"] = probe::kMeeting;
  document["meets"]["aligned"] = share_json(outcome.curve.meets_aligned);
  document["meets"]["shifted"] = share_json(outcome.curve.meets_shifted);
  const auto& claimed = outcome.curve.points[kClaimedWithin - 1];
  Json& claim = document["claim"];
  claim["within"] = kClaimedWithin;
  claim["share"] = kClaimedShare;
  claim["first"] = beside_claim(claimed.first);
  claim["lasting"] = beside_claim(claimed.lasting);
  return document;
}

void print_diverge(const ModelSession& session, const DivergeOutcome& outcome, int64_t within,
                   int64_t tokens) {
  fmt::print(
      "{}: {} greedy answers of {} tokens, one of words 2 to 5 replaced by the most likely token "
      "that starts another word\n",
      session.name, outcome.compared.size(), tokens);
  if (!outcome.skipped.empty()) {
    fmt::print("{} prompts left out, the first because {}\n", outcome.skipped.size(),
               outcome.skipped[0]->skipped);
  }
  fmt::print("\nparted within k tokens behind the word, with 95 % intervals\n");
  fmt::print("  {:>3}  {:26}{}\n", "k", "first difference", "different from there to the end");
  for (const auto& point : outcome.curve.points) {
    constexpr int kShown[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
    const bool is_shown =
        std::find(std::begin(kShown), std::end(kShown), point.within) != std::end(kShown) ||
        point.within == within;
    if (!is_shown) continue;
    fmt::print("  {:>3}  {:26}{}{}\n", point.within, shown(point.first), shown(point.lasting),
               point.within == within ? "  ←" : "");
  }
  fmt::print("\nmeet again, {} tokens in a row: {} at the same position · {} up to {} apart\n",
             probe::kMeeting, shown(outcome.curve.meets_aligned),
             shown(outcome.curve.meets_shifted), probe::kMostShift);
  const auto& claimed = outcome.curve.points[kClaimedWithin - 1];
  fmt::print("claim, {:.0f} % within {}: by the first difference {}, to the end {}\n",
             kClaimedShare * 100, kClaimedWithin, beside_claim(claimed.first),
             beside_claim(claimed.lasting));
}

}  // namespace pawl::cli
