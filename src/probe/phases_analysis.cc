// SPDX-License-Identifier: Apache-2.0
#include "probe/phases_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>

#include "base/check.h"
#include "base/rng.h"
#include "probe/bench.h"

namespace pawl::probe {
namespace {

using Rounds = std::span<const size_t>;  // indices, some of them more than once

// Value over all rounds, interval over rounds drawn with replacement. All that stands in one round
// stays together, so a machine that was slow for a while was so for both sides of a ratio.
class Resampler {
 public:
  Resampler(size_t rounds, uint64_t seed) : rounds_(rounds), seed_(seed) {}

  Estimate estimate(const std::function<double(Rounds)>& statistic) const {
    constexpr size_t kDraws = 1000;
    std::vector<size_t> picked(rounds_);
    std::iota(picked.begin(), picked.end(), 0);
    Estimate result{statistic(picked), {}};
    if (rounds_ < 2) return result;
    std::vector<double> values(kDraws);
    for (size_t draw = 0; draw < kDraws; ++draw) {
      for (size_t i = 0; i < rounds_; ++i) {
        const double u = base::uniform(seed_, draw, i);
        picked[i] = static_cast<size_t>(u * static_cast<double>(rounds_));
      }
      values[draw] = statistic(picked);
    }
    std::sort(values.begin(), values.end());
    constexpr size_t kTail = kDraws * 25 / 1000;
    result.interval = base::Interval{values[kTail], values[kDraws - 1 - kTail]};
    return result;
  }

 private:
  size_t rounds_;
  uint64_t seed_;
};

double median_of(const PhasesLength& length, Rounds rounds,
                 const std::function<double(const PhasesRound&)>& value) {
  std::vector<double> values;
  values.reserve(rounds.size());
  for (const size_t round : rounds) values.push_back(value(length.rounds[round]));
  return spread_of(std::move(values)).median;
}

Bound bound_of(const PhaseFigures& figures) {
  if (figures.by_roofline != figures.by_time) return Bound::kNeither;
  const bool is_compute = figures.by_roofline == Bound::kCompute;
  const double share = is_compute ? figures.of_int8.value : figures.of_read.value;
  return share >= kNearLimit ? figures.by_roofline : Bound::kNeither;
}

// What a phase does in one round: `tokens` of them cost `cost`.
struct Work {
  double tokens;
  Cost cost;
  double PhasesRound::*seconds;
  double PhasesRound::*once;   // a pass,
  double PhasesRound::*twice;  // and one of twice the tokens
};

PhaseFigures figures_of(const PhasesLength& length, const Work& work, const Resampler& resampler) {
  const auto bytes = static_cast<double>(work.cost.bytes);
  const auto operations = static_cast<double>(work.cost.operations);
  PhaseFigures figures;
  figures.bytes_per_token = bytes / work.tokens;
  figures.operations_per_token = operations / work.tokens;
  const auto median = [&](const std::function<double(const PhasesRound&)>& value) {
    return resampler.estimate([&](Rounds rounds) { return median_of(length, rounds, value); });
  };
  const double seconds = median([&](const auto& r) { return r.*work.seconds; }).value;
  figures.tokens_per_s = work.tokens / seconds;
  figures.bytes_per_s = bytes / seconds;
  figures.operations_per_s = operations / seconds;
  figures.of_read =
      median([&](const auto& r) { return bytes / (r.*work.seconds) / r.limits.read_bytes_per_s; });
  figures.of_int8 = median([&](const auto& r) {
    return operations / (r.*work.seconds) / r.limits.int8_operations_per_s;
  });
  figures.doubling = median([&](const auto& r) { return r.*work.twice / (r.*work.once) - 1; });
  const double ridge = median([](const auto& r) { return r.limits.int8_operations_per_s; }).value /
                       median([](const auto& r) { return r.limits.read_bytes_per_s; }).value;
  figures.by_roofline = figures.intensity() >= ridge ? Bound::kCompute : Bound::kBandwidth;
  figures.by_time = figures.doubling.value >= kGrowsWithWork ? Bound::kCompute : Bound::kBandwidth;
  figures.bound = bound_of(figures);
  return figures;
}

PhasesRow row_of(const PhasesLength& length, const Resampler& resampler) {
  const auto tokens = static_cast<double>(length.prompt);
  const auto median = [&](const std::function<double(const PhasesRound&)>& value) {
    return resampler.estimate([&](Rounds rounds) { return median_of(length, rounds, value); });
  };
  PhasesRow row;
  row.prompt = length.prompt;
  row.limits = {median([](const auto& r) { return r.limits.read_bytes_per_s; }).value,
                median([](const auto& r) { return r.limits.int8_operations_per_s; }).value};
  row.prefill = figures_of(length,
                           {tokens, length.prefill, &PhasesRound::prefill_s,
                            &PhasesRound::half_pass_s, &PhasesRound::pass_s},
                           resampler);
  row.decode = figures_of(length,
                          {1, length.decode, &PhasesRound::decode_s, &PhasesRound::decode_s,
                           &PhasesRound::double_decode_s},
                          resampler);
  row.prefill_ms = median([](const auto& r) { return r.prefill_s * 1e3; });
  row.decode_ms = median([](const auto& r) { return r.decode_s * 1e3; });
  row.uncached_ms = median([](const auto& r) { return r.uncached_s * 1e3; });
  row.exchange = median([&](const auto& r) { return r.decode_s / (r.prefill_s / tokens); });
  return row;
}

struct Line {
  double base = 0, slope = 0;
};

// Least squares of relative residuals: weights 1 / y².
Line line_through(const std::vector<double>& x, const std::vector<double>& y) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double weight = 1 / (y[i] * y[i]);
    w += weight;
    wx += weight * x[i];
    wy += weight * y[i];
    wxx += weight * x[i] * x[i];
    wxy += weight * x[i] * y[i];
  }
  const double slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  return {(wy - slope * wx) / w, slope};
}

CostLine cost_line(const PhasesSamples& samples, double PhasesRound::*seconds,
                   const Resampler& resampler) {
  std::vector<double> x;
  for (const PhasesLength& length : samples.lengths) {
    x.push_back(static_cast<double>(length.prompt));
  }
  const auto milliseconds = [&](Rounds rounds) {
    std::vector<double> y;
    for (const PhasesLength& length : samples.lengths) {
      y.push_back(median_of(length, rounds, [&](const auto& r) { return r.*seconds; }) * 1e3);
    }
    return y;
  };
  CostLine line;
  line.base_ms =
      resampler.estimate([&](Rounds rounds) { return line_through(x, milliseconds(rounds)).base; });
  line.us_per_position = resampler.estimate(
      [&](Rounds rounds) { return line_through(x, milliseconds(rounds)).slope * 1e3; });
  line.growth = resampler.estimate([&](Rounds rounds) {
    const std::vector<double> y = milliseconds(rounds);
    return y.back() / y.front();
  });
  std::vector<size_t> all(samples.lengths.front().rounds.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<double> y = milliseconds(all);
  for (size_t i = 0; i < x.size(); ++i) {
    const double fitted = line.base_ms.value + line.us_per_position.value * 1e-3 * x[i];
    line.worst_residual = std::max(line.worst_residual, std::abs(fitted / y[i] - 1));
  }
  constexpr double kOnTheLine = 0.25;
  if (line.growth.high() <= kFlatGrowth) {
    line.shape = CostLine::Shape::kFlat;
  } else if (line.us_per_position.low() > 0 && line.worst_residual <= kOnTheLine) {
    line.shape = CostLine::Shape::kLinear;
  }
  return line;
}

PhasesVerdict bound_verdict(std::string_view name, const PhasesRow& row,
                            const PhaseFigures& figures, Bound claimed, double cores) {
  std::string reason = fmt::format(
      "at {} tokens: {:.3g} operations per byte against {:.3g} at the ridge, {:.0f} % of the "
      "arithmetic and {:.0f} % of the bandwidth, and twice the tokens take {:.2f} times as long",
      row.prompt, figures.intensity(),
      row.limits.int8_operations_per_s / row.limits.read_bytes_per_s, figures.of_int8.value * 100,
      figures.of_read.value * 100, 1 + figures.doubling.value);
  if (figures.by_roofline != figures.by_time) {
    reason += ": the roofline and the time disagree";
  } else if (figures.bound == Bound::kNeither && cores < kQuietCores) {
    reason += fmt::format(": others had {:.0f} % of the cores, so how near a limit is stays open",
                          (1 - cores) * 100);
    return {name, {}, std::move(reason)};
  } else if (figures.bound == Bound::kNeither) {
    reason += ": neither limit is near";
  } else {
    reason += fmt::format(": bound by {}", bound_name(figures.bound));
  }
  return {name, figures.bound == claimed, std::move(reason)};
}

PhasesVerdict cache_verdict(const PhasesAnalysis& analysis) {
  if (!analysis.cached) return {"cache", {}, "one length says nothing about growth"};
  const CostLine& with = *analysis.cached;
  const CostLine& without = *analysis.uncached;
  const int64_t first = analysis.rows.front().prompt, last = analysis.rows.back().prompt;
  // A few rounds on a machine whose speed changes leave the growth open: neither flat nor not.
  if (with.growth.low() <= kFlatGrowth && with.growth.high() > kFlatGrowth) {
    return {"cache",
            {},
            fmt::format("from position {} to {} one output token grows {:.2f}-fold with keys and "
                        "values kept, but anything from {:.2f} to {:.2f} may be; {:.3g}-fold "
                        "without",
                        first, last, with.growth.value, with.growth.low(), with.growth.high(),
                        without.growth.value)};
  }
  const bool holds =
      with.shape == CostLine::Shape::kFlat && without.growth.low() > with.growth.high();
  return {"cache", holds,
          fmt::format("from position {} to {} one output token grows {:.2f}-fold with keys and "
                      "values kept ({}), {:.3g}-fold without ({})",
                      first, last, with.growth.value, shape_name(with.shape), without.growth.value,
                      shape_name(without.shape))};
}

}  // namespace

std::string_view shape_name(CostLine::Shape shape) {
  switch (shape) {
    case CostLine::Shape::kFlat:
      return "flat";
    case CostLine::Shape::kLinear:
      return "linear";
    case CostLine::Shape::kCurved:
      return "curved";
  }
  return "";
}

bool PhasesAnalysis::holds() const {
  return std::none_of(verdicts.begin(), verdicts.end(), [](const PhasesVerdict& verdict) {
    return verdict.holds.has_value() && !*verdict.holds;
  });
}

PhasesAnalysis analyse(const PhasesSamples& samples, uint64_t seed) {
  PAWL_CHECK(!samples.lengths.empty() && !samples.lengths.front().rounds.empty());
  const Resampler resampler(samples.lengths.front().rounds.size(), seed);
  PhasesAnalysis analysis;
  std::vector<double> read, int8, cores;
  for (const PhasesLength& length : samples.lengths) {
    PAWL_CHECK(length.rounds.size() == samples.lengths.front().rounds.size());
    analysis.rows.push_back(row_of(length, resampler));
    for (const PhasesRound& round : length.rounds) {
      read.push_back(round.limits.read_bytes_per_s);
      int8.push_back(round.limits.int8_operations_per_s);
      cores.push_back(round.cores);
    }
  }
  analysis.limits = {spread_of(std::move(read)).median, spread_of(std::move(int8)).median};
  analysis.cores = spread_of(std::move(cores)).median;
  for (auto row = analysis.rows.rbegin(); row != analysis.rows.rend(); ++row) {
    if (row->prefill.by_time != Bound::kCompute) break;
    analysis.measured_crossing = row->prompt;
  }
  if (samples.lengths.size() > 1) {
    analysis.cached = cost_line(samples, &PhasesRound::decode_s, resampler);
    analysis.uncached = cost_line(samples, &PhasesRound::uncached_s, resampler);
  }
  const PhasesRow& longest = analysis.rows.back();
  analysis.verdicts = {
      bound_verdict("prefill", longest, longest.prefill, Bound::kCompute, analysis.cores),
      bound_verdict("decode", longest, longest.decode, Bound::kBandwidth, analysis.cores),
      {"parallel", longest.exchange.low() > 1,
       fmt::format("at {} tokens one output token takes as long as {:.3g} prompt tokens",
                   longest.prompt, longest.exchange.value)},
      cache_verdict(analysis)};
  return analysis;
}

}  // namespace pawl::probe
