// SPDX-License-Identifier: Apache-2.0
// What blurs the two clocks, judged from the raw records: a cache, a prompt that was cut, a
// buffering proxy, neighbours in the batch, chunks of a neighbour's prompt. A verdict that cannot
// be given says so, and speed alone is evidence of nothing: a fast honest stream is not a buffered
// one. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "lab/additivity.h"
#include "lab/profile.h"
#include "lab/record.h"
#include "lab/split.h"

namespace pawl::lab {

enum class Finding {
  kClear,    // looked for and not found
  kFound,    // it is there
  kUnclear,  // the records do not decide
};
std::string_view finding_name(Finding finding);  // "clear", "found", "cannot tell"

struct Verdict {
  std::string name;  // "cache", "prompt cut", "buffering", …
  Finding finding = Finding::kUnclear;
  bool voids_split = false;  // found, and start-up and tail cannot be told apart because of it
  std::string text;          // one line with the numbers it rests on
};
base::Json verdict_json(const Verdict& verdict);

// The prompt length that several longer requests were answered with: the server cuts there.
std::optional<int64_t> find_prompt_cut(std::span<const Point> points);
// Without the points whose prompt was cut.
std::vector<Point> without_cut(std::span<const Point> points);

// The size of the blocks in which a cache hits: the smallest divisor of all hits that is larger
// than what each left over. Nothing where no size explains them.
struct Hit {
  int64_t prompt = 0, cached = 0;  // tokens
};
std::optional<int64_t> block_size(std::span<const Hit> hits);

Verdict judge_prompt_cut(std::span<const Point> points);
// With unique heads no prompt has been seen before, so every hit is a fault of the measurement.
// `split`: null where there is none.
Verdict judge_cache(std::span<const Point> points, const Split* split);
// Of the arm "output": how much of the time that more output takes lies before the first text.
Verdict judge_buffering(std::span<const Point> points, uint64_t seed);
// Several events in each read: gaps of 0 say nothing about the speed.
Verdict judge_bundling(std::span<const RequestRecord> records);
// The time per token changes in steps within an answer, or comes in two groups.
Verdict judge_batching(std::span<const RequestRecord> records);
// Single long gaps of one length.
Verdict judge_chunked_prefill(std::span<const RequestRecord> records);
Verdict judge_additivity(std::span<const Additivity> rows);
// Start-up times of one shape that come in two groups.
Verdict judge_groups(std::span<const Point> points, const Split* split);
Verdict judge_counts(std::span<const RequestRecord> records);
// Prompts that were sent twice, though each should be new.
Verdict judge_prompts(std::span<const RequestRecord> records);

// All of them. Records of warm-ups and what did not succeed are left out.
std::vector<Verdict> judge_all(std::span<const RequestRecord> records,
                               std::span<const Point> points, const Split& split,
                               std::span<const Additivity> additivity, uint64_t seed);

// The repeated prompts of a probe: arm "probe", labels "first" and "again" with equal digests.
struct CacheProbe {
  int64_t pairs = 0;
  double first_ms = 0, again_ms = 0;  // medians of the time to first token
  double hit_share = 0;               // of prompt tokens, where the server tells
  bool is_told = false;
  std::optional<int64_t> block;
  bool is_cached = false;
  std::string text;
};
inline constexpr std::string_view kProbeArm = "probe";
std::optional<CacheProbe> read_cache_probe(std::span<const RequestRecord> records);

}  // namespace pawl::lab
