// SPDX-License-Identifier: Apache-2.0
// The two arms of a sweep, as a plan and as a result: output fixed while the prompt grows, prompt
// fixed while the output grows, shapes with both that no fit sees, the same answer without a
// stream, and prompts sent twice.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lab/additivity.h"
#include "lab/plan.h"
#include "lab/profile.h"
#include "lab/split.h"
#include "lab/verdicts.h"

namespace pawl::lab {

inline constexpr std::string_view kWholeArm = "whole";  // not streamed

struct SweepOptions {
  std::vector<int64_t> prompts = {32, 128, 512, 1024};  // ascending
  std::vector<int64_t> outputs = {1, 16, 64, 128};      // ascending
  int64_t fixed_prompt = 128, fixed_output = 16;        // of the other arm
  int64_t repetitions = 5;
  int64_t warm_ups = 3;
  int64_t probe_pairs = 3;
  uint64_t seed = 1;
};

std::vector<Planned> plan_sweep(const SweepOptions& options);
// What a records file must have been made with to be gone on with.
base::Json options_json(const SweepOptions& options);

// The same answer streamed and not: streaming moves the first token, not the last.
struct Streaming {
  int64_t n = 0;                                                        // of each
  double streamed_first_ms = 0, streamed_end_ms = 0, whole_end_ms = 0;  // medians
  Estimate ratio;      // end streamed / end not streamed, of means
  bool holds = false;  // 1 lies inside the interval, or is closer than 5 %
};
std::optional<Streaming> compare_streaming(std::span<const RequestRecord> records, uint64_t seed);

struct SweepResult {
  Profile profile;            // without points whose prompt was cut
  std::vector<Point> points;  // all
  Split split;
  std::vector<Additivity> additivity;
  std::optional<HeldOut> held_out;
  std::vector<Verdict> verdicts;
  std::optional<CacheProbe> probe;
  std::optional<Streaming> streaming;
  int64_t requests = 0, failed = 0;  // without warm-ups
};

SweepResult conclude_sweep(std::span<const RequestRecord> records, const Conditions& conditions,
                           uint64_t seed);

// A profile (profile.h) with `fit`, `symptoms`, `verdicts`, `additivity`, `shapes` and the rest.
base::Json sweep_json(const SweepResult& result);

base::Json estimate_json(const Estimate& estimate);  // {value, low, high}
base::Json percentile_json(const Percentile& percentile);
base::Json summary_json(const std::optional<Summary>& summary);  // null: no value

}  // namespace pawl::lab
