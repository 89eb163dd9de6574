// SPDX-License-Identifier: Apache-2.0
#include "lab/verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lab/arrival_verdict.h"
#include "lab/bootstrap.h"
#include "lab/stats.h"

namespace pawl::lab {

using base::Json;

std::string_view finding_name(Finding finding) {
  switch (finding) {
    case Finding::kClear:
      return "clear";
    case Finding::kFound:
      return "found";
    case Finding::kUnclear:
      return "cannot tell";
  }
  return "";
}

Json verdict_json(const Verdict& verdict) {
  Json json;
  json["name"] = verdict.name;
  json["finding"] = finding_name(verdict.finding);
  json["voids_split"] = verdict.voids_split;
  json["text"] = verdict.text;
  return json;
}

std::optional<int64_t> find_prompt_cut(std::span<const Point> points) {
  int64_t longest = 0;
  for (const Point& point : points) longest = std::max(longest, point.prompt);
  // Lengths asked for beyond the counting error of a prompt that is not exact.
  std::set<int64_t> beyond;
  for (const Point& point : points) {
    if (point.prompt == longest && point.prompt_asked * 100 > longest * 105) {
      beyond.insert(point.prompt_asked);
    }
  }
  // One length alone may be a prompt that came out shorter than wanted.
  if (beyond.size() >= 2) return longest;
  const bool is_far = !beyond.empty() && *beyond.rbegin() > longest + longest / 2;
  return is_far ? std::optional<int64_t>(longest) : std::nullopt;
}

std::vector<Point> without_cut(std::span<const Point> points) {
  const auto cut = find_prompt_cut(points);
  std::vector<Point> kept;
  for (const Point& point : points) {
    const bool was_cut = cut && point.prompt >= *cut && point.prompt_asked * 100 > *cut * 105;
    if (!was_cut) kept.push_back(point);
  }
  return kept;
}

Verdict judge_prompt_cut(std::span<const Point> points) {
  Verdict verdict{"prompt cut", Finding::kClear, false, "every prompt arrived at its length"};
  if (points.empty()) verdict.finding = Finding::kUnclear, verdict.text = "no request succeeded";
  if (const auto cut = find_prompt_cut(points)) {
    verdict.finding = Finding::kFound;
    verdict.text = fmt::format(
        "prompt cut at {}: {} longer requests were answered with that many "
        "tokens, and are left out of the fits",
        *cut, points.size() - without_cut(points).size());
  }
  return verdict;
}

Verdict judge_buffering(std::span<const Point> points, uint64_t seed) {
  Verdict verdict{"buffering", Finding::kUnclear, false, ""};
  std::vector<Sample> first, last;
  for (const Point& point : points) {
    if (point.arm != kOutputArm) continue;
    first.push_back({static_cast<double>(point.output), point.ttft_ms});
    last.push_back({static_cast<double>(point.output), point.e2e_ms});
  }
  auto first_fit = fit_curve(first, {0, 1}), last_fit = fit_curve(last, {0, 1});
  if (!first_fit.ok() || !last_fit.ok()) {
    verdict.text = "it takes answers of several lengths to see a buffer";
    return verdict;
  }
  // The same seed draws the same requests for both, so that what slowed a request is in both.
  const Bootstrap first_draws(*first_fit, seed), last_draws(*last_fit, seed);
  const auto last_slopes = last_draws.values(last_fit->coefficient_factors(1));
  if (middle_of(last_slopes).low <= 0) {
    verdict.text =
        "a longer answer takes no more time than the noise, so that nothing can be said "
        "about where it is spent";
    return verdict;
  }
  std::vector<double> shares = first_draws.values(first_fit->coefficient_factors(1));
  for (size_t draw = 0; draw < shares.size(); ++draw) shares[draw] /= last_slopes[draw];
  const double share = first_fit->coefficient(1) / last_fit->coefficient(1);
  const Interval interval = middle_of(shares), sure = middle_of(shares, kSure);
  const std::string numbers = fmt::format(
      "{:.0f} % ({:.0f} to {:.0f}) of the time that more "
      "output takes passes before the first text",
      100 * share, 100 * interval.low, 100 * interval.high);
  // A part may be held back: a first chunk that waits for more. Half is far from both ends.
  constexpr double kHeld = 0.5, kPart = 0.1;
  if (sure.low > kHeld) {
    verdict.finding = Finding::kFound;
    verdict.text = "TTFT void: " + numbers + ": the text is held back on the way";
  } else if (sure.low > kPart) {
    verdict.finding = Finding::kFound;
    verdict.text = "TTFT blurred: " + numbers + ": a part of the text is held back";
  } else if (interval.high < kHeld) {
    verdict.finding = Finding::kClear;
    verdict.text = numbers;
  } else {
    verdict.text = numbers + ": too wide to say";
  }
  verdict.voids_split = verdict.finding == Finding::kFound;
  return verdict;
}

Verdict judge_additivity(std::span<const Additivity> rows) {
  Verdict verdict{"additivity", Finding::kUnclear, false,
                  "no fit to add up, or no request with both long"};
  const Additivity* worst = nullptr;
  for (const Additivity& row : rows) {
    const bool is_worse =
        worst == nullptr || std::pair(row.fails, std::abs(row.gap.value)) >
                                std::pair(worst->fails, std::abs(worst->gap.value));
    if (is_worse) worst = &row;
  }
  if (worst == nullptr) return verdict;
  // An interval that holds a half more, or a half less, clears nothing.
  constexpr double kWide = 0.5;
  const bool is_wide = worst->gap.interval.high - worst->gap.interval.low > kWide;
  verdict.finding =
      worst->fails ? Finding::kFound : (is_wide ? Finding::kUnclear : Finding::kClear);
  verdict.voids_split = worst->fails;
  verdict.text = fmt::format(
      "{} and {} tokens together take {:+.1f} % ({:+.1f} to {:+.1f}) beside "
      "the sum of both{}",
      worst->prompt, worst->output, 100 * worst->gap.value, 100 * worst->gap.interval.low,
      100 * worst->gap.interval.high,
      worst->fails ? ": start-up and tail are not two things here"
                   : (is_wide ? ": too wide to say" : ""));
  return verdict;
}

Verdict judge_groups(std::span<const Point> points, const Split* split) {
  Verdict verdict{"two groups", Finding::kUnclear, false, "too few requests to compare"};
  const Fit* fit = split != nullptr ? split->start_up() : nullptr;
  std::vector<double> ratios;
  std::map<int64_t, std::vector<double>> lengths;
  for (const Point& point : points) {
    if (fit != nullptr)
      ratios.push_back(point.ttft_ms / split->first_token_at(static_cast<double>(point.prompt)));
    lengths[point.prompt_asked].push_back(point.ttft_ms);
  }
  const auto found = [&](const TwoGroups& groups, std::string what) {
    verdict.finding = Finding::kFound;
    verdict.text = fmt::format(
        "{} comes in two groups: {} requests around {:.3g} and {} around "
        "{:.3g}; one mean describes neither",
        what, groups.low_n, groups.low_median, groups.high_n, groups.high_median);
  };
  for (const auto& [length, values] : lengths) {
    if (values.size() >= 10) verdict.finding = Finding::kClear;
    if (const auto groups = two_groups(values)) {
      found(*groups, fmt::format("TTFT at {} tokens, in ms,", length));
      return verdict;
    }
  }
  if (ratios.size() >= 10) verdict.finding = Finding::kClear;
  if (const auto groups = two_groups(ratios)) found(*groups, "TTFT over its fit");
  if (verdict.finding == Finding::kClear) verdict.text = "the start-up times are one group";
  return verdict;
}

Verdict judge_counts(std::span<const RequestRecord> records) {
  Verdict verdict{"token counts", Finding::kClear, false, ""};
  int64_t n = 0, estimated = 0, contradicted = 0, missing = 0, shorter = 0;
  for (const RequestRecord& record : records) {
    if (record.asked.is_warm_up || record.state != RequestState::kSuccess) continue;
    ++n;
    const auto count = best_count(record.output), prompt = best_count(record.prompt);
    if (!count || !prompt) {
      ++missing;
      continue;
    }
    estimated += count->is_estimated || prompt->is_estimated;
    contradicted += count->is_contradicted || prompt->is_contradicted;
    shorter += record.asked.output_tokens && count->count * 100 < *record.asked.output_tokens * 95;
  }
  verdict.finding =
      estimated + contradicted + missing + shorter > 0 ? Finding::kFound : Finding::kClear;
  verdict.text = fmt::format(
      "{} requests: {} without a count, {} estimated, {} where two counts "
      "differ, {} answered shorter than asked; each stands at its real count",
      n, missing, estimated, contradicted, shorter);
  return verdict;
}

Verdict judge_prompts(std::span<const RequestRecord> records) {
  Verdict verdict{"prompts", Finding::kUnclear, false, "the prompts have no digests"};
  std::set<std::string> different, warm;
  int64_t n = 0, shared = 0;
  for (const RequestRecord& record : records) {
    if (record.asked.prompt_digest.empty() || record.asked.arm == kProbeArm) continue;
    if (record.asked.is_warm_up) {
      warm.insert(record.asked.prompt_digest);
    } else {
      different.insert(record.asked.prompt_digest);
      ++n;
    }
  }
  if (n == 0) return verdict;
  for (const std::string& digest : warm) shared += different.contains(digest);
  const bool is_unique = static_cast<int64_t>(different.size()) == n && shared == 0;
  verdict.finding = is_unique ? Finding::kClear : Finding::kFound;
  verdict.text = fmt::format(
      "{} different prompts in {} requests ({:.0f} %), {} of them in the "
      "warm-up",
      different.size(), n, 100.0 * static_cast<double>(different.size()) / static_cast<double>(n),
      shared);
  return verdict;
}

std::vector<Verdict> judge_all(std::span<const RequestRecord> records,
                               std::span<const Point> points, const Split& split,
                               std::span<const Additivity> additivity, uint64_t seed) {
  return {
      judge_prompt_cut(points),       judge_cache(points, &split),  judge_buffering(points, seed),
      judge_held_back(records),       judge_additivity(additivity), judge_batching(records),
      judge_chunked_prefill(records), judge_bundling(records),      judge_groups(points, &split),
      judge_counts(records),          judge_prompts(records)};
}

}  // namespace pawl::lab
