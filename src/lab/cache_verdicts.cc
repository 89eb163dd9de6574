// SPDX-License-Identifier: Apache-2.0
// The verdicts of verdicts.h about caches: hits of what was measured, and the probe that looks for
// one.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "lab/stats.h"
#include "lab/verdicts.h"

namespace pawl::lab {
namespace {

// Hits below this share of the prompt tokens are what templates have in common.
constexpr double kMostHits = 0.02;

double percent(int64_t part, int64_t all) {
  return all > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 0;
}

}  // namespace

std::optional<int64_t> block_size(std::span<const Hit> hits) {
  // The last token is always computed, for its row of scores: that alone says nothing of blocks.
  int64_t common = 0, left_over = 0;
  for (const Hit& hit : hits) {
    if (hit.cached <= 0) continue;
    common = std::gcd(common, hit.cached);
    left_over = std::max(left_over, hit.prompt - hit.cached);
  }
  if (common > 0 && left_over <= 1) return 1;
  for (int64_t size = left_over + 1; size <= common; ++size) {
    if (common % size == 0) return size;
  }
  return std::nullopt;
}

Verdict judge_cache(std::span<const Point> points, const Split* split) {
  Verdict verdict{"cache", Finding::kUnclear, false, "no request succeeded"};
  int64_t cached = 0, prompt = 0, told = 0, fast = 0, fitted = 0;
  const int64_t head = shared_head(points);
  for (const Point& point : points) {
    if (point.cached) cached += *point.cached - head, prompt += point.prompt, ++told;
  }
  // Without the server's word: far under the fit for its length.
  if (split != nullptr && split->start_up() != nullptr) {
    for (const Point& point : points) {
      if (point.arm == kProbeArm) continue;
      ++fitted;
      fast += point.ttft_ms < split->first_token_at(static_cast<double>(point.prompt)) / 3;
    }
  }
  constexpr double kMostFast = 0.05;
  const bool is_fast = static_cast<double>(fast) > kMostFast * static_cast<double>(fitted);
  if (told > 0) {
    const bool is_hit = static_cast<double>(cached) > kMostHits * static_cast<double>(prompt);
    verdict.finding = is_hit || is_fast ? Finding::kFound : Finding::kClear;
    verdict.text = fmt::format(
        "{:.1f} % of the prompt tokens came from a cache, by the server's "
        "count of {} requests",
        percent(cached, prompt), told);
    if (head > 0) {
      verdict.text +=
          fmt::format("; beside the {} with which every prompt begins, its template", head);
    }
    if (is_fast && !is_hit) verdict.text += fmt::format("; {} starts far under the fit", fast);
  } else if (fitted > 0) {
    verdict.finding = is_fast ? Finding::kFound : Finding::kClear;
    verdict.text = fmt::format(
        "{} of {} starts took less than a third of what their length takes; "
        "the server does not tell of hits",
        fast, fitted);
  } else if (!points.empty()) {
    verdict.text = "the server does not tell of hits, and no fit says what a start should take";
  }
  verdict.voids_split = verdict.finding == Finding::kFound;
  return verdict;
}

std::optional<CacheProbe> read_cache_probe(std::span<const RequestRecord> records) {
  std::map<std::string, const RequestRecord*> first;
  std::vector<double> first_ms, again_ms, ratios;
  std::vector<Hit> hits;
  CacheProbe probe;
  int64_t cached = 0, prompt = 0;
  for (const RequestRecord& record : records) {
    if (record.asked.arm != kProbeArm || record.state != RequestState::kSuccess) continue;
    if (record.asked.label == "first") first[record.asked.prompt_digest] = &record;
    const auto earlier = first.find(record.asked.prompt_digest);
    if (record.asked.label != "again" || earlier == first.end()) continue;
    const auto before = ttft_ms(*earlier->second), after = ttft_ms(record);
    if (!before || !after) continue;
    first_ms.push_back(*before), again_ms.push_back(*after);
    const auto count = best_count(record.prompt);
    if (record.cached_tokens && count) {
      probe.is_told = true;
      cached += *record.cached_tokens, prompt += count->count;
      hits.push_back({count->count, *record.cached_tokens});
    }
  }
  if (first_ms.empty()) return std::nullopt;
  probe.pairs = static_cast<int64_t>(first_ms.size());
  probe.first_ms = median_of(first_ms);
  probe.again_ms = median_of(again_ms);
  probe.hit_share = prompt > 0 ? static_cast<double>(cached) / static_cast<double>(prompt) : 0;
  probe.block = block_size(hits);
  probe.is_cached = probe.hit_share > kMostHits || probe.again_ms < 0.5 * probe.first_ms;
  probe.text = fmt::format("a prompt sent again starts after {:.3g} ms instead of {:.3g} ms",
                           probe.again_ms, probe.first_ms);
  if (probe.is_told) {
    probe.text += fmt::format("; the server tells of {:.0f} % hits", 100 * probe.hit_share);
    if (probe.block && *probe.block > 1)
      probe.text += fmt::format(" in blocks of {}", *probe.block);
  }
  return probe;
}

}  // namespace pawl::lab
