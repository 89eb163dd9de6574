// SPDX-License-Identifier: Apache-2.0
// The verdicts of verdicts.h that rest on the gaps between the texts of one stream.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lab/stats.h"
#include "lab/verdicts.h"

namespace pawl::lab {
namespace {

constexpr size_t kFewestGaps = 24;  // of an answer whose course can be judged

bool is_measured(const RequestRecord& record) {
  return !record.asked.is_warm_up && record.state == RequestState::kSuccess;
}

// Between reads: events of one read share a stamp, and the gap of 0 among them tells nothing.
std::vector<double> read_gaps(const RequestRecord& record) {
  std::vector<double> gaps;
  for (const ChunkGap& gap : chunk_gaps(record)) {
    if (!gap.is_same_read) gaps.push_back(gap.ms);
  }
  return gaps;
}

double square_sum(std::span<const double> values) {
  if (values.empty()) return 0;
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

// What is left of `values` beside the best straight line through them.
double square_sum_of_line(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = mean_of(values), middle = (n - 1) / 2;
  double covariance = 0, spread = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    covariance += x * (values[i] - mean);
    spread += x * x;
  }
  return square_sum(values) - covariance * covariance / spread;
}

// How often slower or faster the tokens get at one place of the answer: 1 where there is no such
// place. A slope, as a growing context makes it, is no step.
double step_of(const std::vector<double>& gaps) {
  constexpr double kExplained = 0.5, kBetterThanLine = 0.75, kClip = 1;
  std::vector<double> logs(gaps.size());
  std::transform(gaps.begin(), gaps.end(), logs.begin(),
                 [](double ms) { return std::log(std::max(ms, 1e-3)); });
  const double middle = median_of(logs);
  // Single stalls are another verdict's: they must not make a step here.
  for (double& value : logs) value = std::clamp(value, middle - kClip, middle + kClip);
  const double all = square_sum(logs);
  const size_t margin = logs.size() / 6;
  double best = all;
  size_t place = 0;
  const std::span<const double> values(logs);
  for (size_t k = margin; k + margin <= logs.size(); ++k) {
    const double rest = square_sum(values.first(k)) + square_sum(values.subspan(k));
    if (rest < best) best = rest, place = k;
  }
  if (place == 0 || best > kExplained * all || best > kBetterThanLine * square_sum_of_line(logs)) {
    return 1;
  }
  return std::exp(std::abs(median_of(values.first(place)) - median_of(values.subspan(place))));
}

struct Stalls {
  std::vector<double> ms;
  double all_ms = 0;  // of all gaps
};

// Gaps far above their stream's own median, between two ordinary ones.
void add_stalls(const std::vector<double>& gaps, Stalls& stalls) {
  constexpr double kLong = 3, kOrdinary = 2, kShortestMs = 1;
  const double ordinary = median_of(gaps);
  stalls.all_ms += std::accumulate(gaps.begin(), gaps.end(), 0.0);
  for (size_t i = 1; i + 1 < gaps.size(); ++i) {
    const bool is_long = gaps[i] > kLong * ordinary && gaps[i] - ordinary > kShortestMs;
    const bool is_alone = gaps[i - 1] < kOrdinary * ordinary && gaps[i + 1] < kOrdinary * ordinary;
    if (is_long && is_alone) stalls.ms.push_back(gaps[i]);
  }
}

}  // namespace

Verdict judge_bundling(std::span<const RequestRecord> records) {
  Verdict verdict{"bundling", Finding::kUnclear, false, "no stream with several texts"};
  int64_t tiny = 0, n = 0, several = 0, chunks = 0;
  double all_ms = 0, large_ms = 0;
  constexpr double kTinyMs = 0.1;
  for (const RequestRecord& record : records) {
    if (!is_measured(record)) continue;
    for (const ChunkGap& gap : chunk_gaps(record)) {
      ++n;
      all_ms += gap.ms;
      if (gap.ms < kTinyMs) {
        ++tiny;
      } else if (gap.ms > 10 * kTinyMs) {
        large_ms += gap.ms;
      }
    }
    const TokenGaps tokens = inter_token_gaps(record);
    several += tokens.multi_token_chunks;
    chunks += tokens.chunks;
  }
  if (n == 0) return verdict;
  const double share = static_cast<double>(tiny) / static_cast<double>(n);
  const double of_chunks =
      chunks > 0 ? static_cast<double>(several) / static_cast<double>(chunks) : 0;
  // A stream that is fast throughout has small gaps and no large ones.
  const bool is_bundled = share > 0.5 && large_ms > 0.8 * all_ms;
  verdict.finding = is_bundled || of_chunks > 0.1 ? Finding::kFound : Finding::kClear;
  verdict.text = fmt::format(
      "{:.0f} % of gaps under {} ms{}; {:.0f} % of the chunks hold several "
      "tokens",
      100 * share, kTinyMs, is_bundled ? ": bundled, and the median gap is no speed" : "",
      100 * of_chunks);
  return verdict;
}

Verdict judge_batching(std::span<const RequestRecord> records) {
  Verdict verdict{"batching", Finding::kUnclear, false,
                  fmt::format("no answer with {} gaps", kFewestGaps)};
  constexpr double kStep = 1.4;
  int64_t n = 0, stepped = 0;
  double largest = 1;
  for (const RequestRecord& record : records) {
    if (!is_measured(record)) continue;
    const std::vector<double> gaps = read_gaps(record);
    if (gaps.size() < kFewestGaps) continue;
    ++n;
    const double step = step_of(gaps);
    stepped += step > kStep;
    largest = std::max(largest, step);
  }
  if (n == 0) return verdict;
  const bool is_found = stepped >= 2 && stepped * 5 >= n;
  verdict.finding = is_found ? Finding::kFound : Finding::kClear;
  verdict.voids_split = is_found;
  verdict.text =
      fmt::format("in {} of {} answers the time per token changes in a step{}", stepped, n,
                  is_found ? fmt::format(", up to {:.1f} times: others share the batch or "
                                         "the machine",
                                         largest)
                           : std::string());
  return verdict;
}

Verdict judge_chunked_prefill(std::span<const RequestRecord> records) {
  Verdict verdict{"chunked prefill", Finding::kUnclear, false,
                  fmt::format("no answer with {} gaps", kFewestGaps)};
  Stalls stalls;
  int64_t n = 0, with = 0, gaps_seen = 0;
  for (const RequestRecord& record : records) {
    if (!is_measured(record)) continue;
    const std::vector<double> gaps = read_gaps(record);
    if (gaps.size() < kFewestGaps) continue;
    const size_t before = stalls.ms.size();
    add_stalls(gaps, stalls);
    ++n;
    with += stalls.ms.size() > before;
    gaps_seen += static_cast<int64_t>(gaps.size());
  }
  if (n == 0) return verdict;
  verdict.finding = Finding::kClear;
  verdict.text = fmt::format("{} single long gaps in {}", stalls.ms.size(), gaps_seen);
  if (stalls.ms.size() < 6 || with < 2) return verdict;
  std::vector<double> ascending = stalls.ms;
  std::sort(ascending.begin(), ascending.end());
  const double quarter = percentile(ascending, 25), three = percentile(ascending, 75);
  // What a scheduler of processes does has every length; chunks of a prompt have one.
  constexpr double kAlike = 1.4, kVisible = 0.1;
  if (three > kAlike * quarter) {
    verdict.text +=
        fmt::format(", of no common length ({:.3g} to {:.3g} ms): not chunks", quarter, three);
    return verdict;
  }
  const double sum = std::accumulate(ascending.begin(), ascending.end(), 0.0);
  verdict.finding = Finding::kFound;
  verdict.voids_split = sum > kVisible * stalls.all_ms;
  verdict.text += fmt::format(
      ", {:.3g} to {:.3g} ms long, {:.0f} % of the time: as chunks of a "
      "neighbour's prompt are",
      quarter, three, 100 * sum / stalls.all_ms);
  return verdict;
}

}  // namespace pawl::lab
