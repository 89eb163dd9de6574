// SPDX-License-Identifier: Apache-2.0
#include "lab/arrival_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace pawl::lab {
namespace {

// Steps of speculation bring up to about ten tokens at once; more come only out of a buffer.
constexpr int64_t kManyEvents = 16;
constexpr double kMostOfThem = 0.8;  // of the content events, in such bursts
constexpr double kAlike = 0.15;      // deviation of block sizes, as a share of their mean
// Reads that follow one another so soon are one release: a large block takes several reads.
constexpr int64_t kSameBurstNs = 1'000'000;

struct Burst {
  int64_t last_ns = 0;
  int64_t events = 0, bytes = 0, text_bytes = 0;
};

std::vector<Burst> bursts_of(const RequestRecord& record) {
  std::vector<Burst> bursts;
  int32_t read = -1;
  for (const RawEvent& event : record.events) {
    if (!is_content_event(event)) continue;
    // Within a burst every read but the last is full of events: a fast stream is none.
    const bool goes_on =
        !bursts.empty() &&
        (event.read == read || (event.stamp_ns - bursts.back().last_ns < kSameBurstNs &&
                                bursts.back().events >= kManyEvents));
    if (!goes_on) bursts.emplace_back();
    Burst& burst = bursts.back();
    burst.last_ns = event.stamp_ns;
    burst.events += 1;
    burst.bytes += event.bytes;
    burst.text_bytes += event.text_bytes;
    read = event.read;
  }
  return bursts;
}

struct Sizes {
  double mean = 0, spread = 0;  // spread: deviation / mean
};
Sizes sizes_of(const std::vector<Burst>& bursts, int64_t Burst::*member) {
  double sum = 0, squares = 0;
  for (const Burst& burst : bursts) sum += static_cast<double>(burst.*member);
  const double mean = sum / static_cast<double>(bursts.size());
  for (const Burst& burst : bursts) {
    squares += std::pow(static_cast<double>(burst.*member) - mean, 2);
  }
  return {mean, std::sqrt(squares / static_cast<double>(bursts.size())) / mean};
}

}  // namespace

ArrivalVerdict judge_arrival(const RequestRecord& record) {
  ArrivalVerdict result;
  Verdict& verdict = result.verdict;
  verdict.name = "held back";
  std::vector<Burst> bursts = bursts_of(record);
  int64_t events = 0, held = 0, large = 0;
  for (const Burst& burst : bursts) {
    events += burst.events;
    held += burst.events >= kManyEvents ? burst.events : 0;
    large += burst.events >= kManyEvents ? 1 : 0;
  }
  if (events < 2 * kManyEvents) {
    verdict.text = fmt::format("{} events of text are too few to tell", events);
    return result;
  }
  const double share = static_cast<double>(held) / static_cast<double>(events);
  if (share < kMostOfThem) {
    verdict.finding = Finding::kClear;
    verdict.text = fmt::format("{} events came in {} reads", events, bursts.size());
    return result;
  }
  // The last block is what was left, and the first may hold what came before the text.
  if (bursts.size() > 1) bursts.pop_back();
  const Sizes stream = sizes_of(bursts, &Burst::bytes), text = sizes_of(bursts, &Burst::text_bytes);
  const bool is_alike = std::min(stream.spread, text.spread) < kAlike;
  // Blocks of every size are a client or a network that was held up, not a buffer.
  if (large > 2 && !is_alike) {
    verdict.text =
        fmt::format("{:.0f} % of the text came in {} bursts of unequal size", share * 100, large);
    return result;
  }
  verdict.finding = Finding::kFound;
  verdict.voids_split = true;
  if (large == 1) {
    verdict.text = "buffered on the way: all of the text came at once; TTFT void";
    return result;
  }
  result.is_of_text = text.spread < stream.spread;
  result.block_bytes = std::llround(result.is_of_text ? text.mean : stream.mean);
  verdict.text =
      fmt::format("held back: buffered on the way in blocks of about {} bytes{}; TTFT void",
                  *result.block_bytes, result.is_of_text ? " of text" : "");
  return result;
}

Verdict judge_held_back(std::span<const RequestRecord> records) {
  Verdict verdict;
  verdict.name = "held back";
  int64_t found = 0, clear = 0;
  std::string text;
  for (const RequestRecord& record : records) {
    if (record.state != RequestState::kSuccess) continue;
    Verdict one = judge_arrival(record).verdict;
    clear += one.finding == Finding::kClear ? 1 : 0;
    if (one.finding != Finding::kFound) continue;
    ++found;
    text = std::move(one.text);
  }
  if (found + clear == 0) {
    verdict.text = "no stream is long enough to tell";
  } else if (found > clear) {
    verdict.finding = Finding::kFound;
    verdict.voids_split = true;
    verdict.text = fmt::format("{} of {} streams: {}", found, found + clear, text);
  } else {
    verdict.finding = Finding::kClear;
    verdict.text = fmt::format("{} of {} streams came in blocks", found, found + clear);
  }
  return verdict;
}

}  // namespace pawl::lab
