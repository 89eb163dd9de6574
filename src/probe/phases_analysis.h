// SPDX-License-Identifier: Apache-2.0
// What the measurements of phases.h say: how near each phase comes to each limit, which limit binds
// it, what an output token is worth in prompt tokens, and whether the claim holds. A pure function
// of the samples. Intervals are of 95 %, by resampling rounds (Efron, "Bootstrap methods: another
// look at the jackknife", Annals of Statistics 7, 1979); there is none where there is one round.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/binomial.h"
#include "probe/phases.h"
#include "probe/roofline.h"

namespace pawl::probe {

struct Estimate {
  double value = 0;
  std::optional<base::Interval> interval;
  double low() const { return interval ? interval->low : value; }
  double high() const { return interval ? interval->high : value; }
};

// A share of a limit from which on it may be said to bind; how much longer twice the tokens must
// take for the work to be what counts.
inline constexpr double kNearLimit = 1.0 / 3;
inline constexpr double kGrowsWithWork = 0.5;
// With keys and values kept, a cost that grows by less than this over the range is called flat.
inline constexpr double kFlatGrowth = 1.5;

// Two answers to "what binds this phase" that do not depend on each other, and what they make
// together.
struct PhaseFigures {
  double tokens_per_s = 0;
  double bytes_per_token = 0, operations_per_token = 0;
  double bytes_per_s = 0, operations_per_s = 0;  // at tokens_per_s
  Estimate of_read, of_int8;                     // shares of the limits measured before each
  // What twice as many tokens in a pass add to its time, as a share of it: 0 when reading weights
  // is what takes the time, 1 when arithmetic is.
  Estimate doubling;
  Bound by_roofline = Bound::kNeither;  // operations per byte against the ridge
  Bound by_time = Bound::kNeither;      // how the time grows when the tokens double
  // What both say, where the share of that limit is kNearLimit at least; else kNeither.
  Bound bound = Bound::kNeither;

  double intensity() const { return operations_per_token / bytes_per_token; }
};

struct PhasesRow {
  int64_t prompt = 0;
  MachineLimits limits;
  PhaseFigures prefill, decode;
  Estimate prefill_ms, decode_ms, uncached_ms;  // the prompt; one token behind it, kept or not
  Estimate exchange;  // prompt tokens that take as long as an output token
  bool holds() const {
    return prefill.bound == Bound::kCompute && decode.bound == Bound::kBandwidth;
  }
};

// Milliseconds of one output token against its position: a line by least squares of relative
// residuals.
struct CostLine {
  enum class Shape { kFlat, kLinear, kCurved };
  Estimate base_ms, us_per_position;
  Estimate growth;            // at the longest over at the shortest, as measured
  double worst_residual = 0;  // of a point, relative
  Shape shape = Shape::kCurved;
};
std::string_view shape_name(CostLine::Shape shape);  // "flat", "linear", "curved"

struct PhasesVerdict {
  std::string_view name;
  std::optional<bool> holds;  // nothing: not checked
  std::string reason;
};

// Below this share of the cores for its threads a measurement says nothing about how near a limit
// is: a limit is what the machine does in a moment, a pass takes many.
inline constexpr double kQuietCores = 0.8;

struct PhasesAnalysis {
  MachineLimits limits;  // medians of all
  double cores = 1;      // likewise
  std::vector<PhasesRow> rows;
  // The least tested length from which on prefill is bound by arithmetic, as its time grows.
  std::optional<int64_t> measured_crossing;
  std::optional<CostLine> cached, uncached;  // none from one length
  // prefill, decode: what binds at the longest length. parallel: a prompt token costs less than an
  // output token. cache: the cost is flat with keys and values kept, and grows more without.
  std::vector<PhasesVerdict> verdicts;

  bool holds() const;
};

// REQUIRES: at least one length with one round, and as many rounds for each
PhasesAnalysis analyse(const PhasesSamples& samples, uint64_t seed);

}  // namespace pawl::probe
