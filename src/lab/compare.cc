// SPDX-License-Identifier: Apache-2.0
#include "lab/compare.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "lab/stats.h"
#include "lab/sweep.h"

namespace pawl::lab {

using base::Json;

namespace {

std::optional<double> whole_number(std::string_view text, int64_t least) {
  constexpr int64_t kMost = 100'000'000;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < least || number > kMost) return std::nullopt;
  return static_cast<double>(number);
}

Slower larger(double a, double b) {
  if (a == b) return Slower::kCannotTell;
  return a > b ? Slower::kA : Slower::kB;
}

// Means the values may have, one for each draw: normal, wider for few as Student's t is.
std::vector<double> mean_draws(std::span<const double> values, uint64_t seed, uint64_t stream) {
  const auto n = static_cast<double>(values.size());
  const double error = (1 + 1.5 / (n - 1)) * deviation_of(values) / std::sqrt(n);
  std::vector<double> draws(kDefaultDraws, mean_of(values));
  for (size_t draw = 0; draw < draws.size(); ++draw) {
    draws[draw] += error * standard_normal(seed + stream, draw);
  }
  return draws;
}

Half half_of(std::span<const RequestRecord> records, std::string_view arm) {
  Half half;
  for (const RequestRecord& record : records) {
    const auto point = point_of(record);
    if (!point || point->arm != arm) continue;
    ++half.n;
    half.prompt += static_cast<double>(point->prompt);
    half.output += static_cast<double>(point->output);
    half.ttft_ms.push_back(point->ttft_ms);
    half.tail_ms.push_back(point->e2e_ms - point->ttft_ms);
    half.e2e_ms.push_back(point->e2e_ms);
  }
  if (half.n < 2) return half;
  half.prompt /= static_cast<double>(half.n);
  half.output /= static_cast<double>(half.n);
  half.before_ms = mean_of(half.ttft_ms);
  half.after_ms = mean_of(half.tail_ms);
  half.mean_ms.value = mean_of(half.e2e_ms);
  return half;
}

// From the difference of the two start-ups and the tail with more tokens. Nothing where the prompts
// are too close, or the interval reaches 0.
std::optional<Estimate> exchange_of(const Half& a, const Half& b, uint64_t seed) {
  const Half& tail = a.output > b.output ? a : b;
  const double prompts = a.prompt - b.prompt;
  if (tail.output < 2 || std::abs(prompts) < 16) return std::nullopt;
  const auto first_a = mean_draws(a.ttft_ms, seed, 3), first_b = mean_draws(b.ttft_ms, seed, 4);
  auto rates = mean_draws(tail.tail_ms, seed, 5);
  std::vector<double> slopes(rates.size());
  for (size_t draw = 0; draw < rates.size(); ++draw) {
    slopes[draw] = (first_a[draw] - first_b[draw]) / prompts;
    rates[draw] = rates[draw] / (tail.output - 1) / slopes[draw];
  }
  if (middle_of(slopes).low <= 0) return std::nullopt;
  const double slope = (a.before_ms - b.before_ms) / prompts;
  return Estimate{tail.after_ms / (tail.output - 1) / slope, middle_of(rates)};
}

Json half_json(const Half& half) {
  Json json;
  json["n"] = half.n;
  json["prompt_tokens"] = half.prompt;
  json["output_tokens"] = half.output;
  json["before_first_ms"] = half.before_ms;
  json["after_first_ms"] = half.after_ms;
  json["dominated_by"] = half.before_ms > half.after_ms ? "start-up" : "output";
  json["dominant_share"] = std::max(half.before_ms, half.after_ms) / half.mean_ms.value;
  json["e2e_mean_ms"] = estimate_json(half.mean_ms);
  json["ttft_ms"] = summary_json(summarize(half.ttft_ms));
  json["e2e_ms"] = summary_json(summarize(half.e2e_ms));
  return json;
}

}  // namespace

std::optional<NamedShape> parse_shape(std::string_view text) {
  NamedShape named;
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    named.name = text.substr(at + 1);
    if (named.name.empty()) return std::nullopt;
    text = text.substr(0, at);
  }
  const size_t comma = text.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto prompt = whole_number(text.substr(0, comma), 0);
  const auto output = whole_number(text.substr(comma + 1), 1);
  if (!prompt || !output) return std::nullopt;
  named.shape = {*prompt, *output};
  return named;
}

std::string_view slower_name(Slower slower) {
  switch (slower) {
    case Slower::kA:
      return "a";
    case Slower::kB:
      return "b";
    case Slower::kCannotTell:
      return "cannot tell";
  }
  return "";
}

Slower slower_of(const Interval& a, const Interval& b) {
  if (a.low > b.high) return Slower::kA;
  return b.low > a.high ? Slower::kB : Slower::kCannotTell;
}

double weighted_tokens(const Shape& shape, double exchange) {
  return shape.prompt + exchange * shape.output;
}

std::optional<double> flip_rate(const Shape& a, const Shape& b) {
  const double rate = (a.prompt - b.prompt) / (b.output - a.output);
  return std::isfinite(rate) && rate > 0 ? std::optional<double>(rate) : std::nullopt;
}

std::vector<Planned> plan_comparison(const Shape& a, const Shape& b, int64_t repetitions,
                                     int64_t warm_ups, uint64_t seed) {
  std::vector<Planned> shapes;
  for (const auto& [arm, shape] : {std::pair("a", a), std::pair("b", b)}) {
    Planned planned;
    planned.arm = arm;
    planned.prompt = static_cast<int64_t>(shape.prompt);
    planned.output = static_cast<int64_t>(shape.output);
    planned.label = shape_label(planned.prompt, planned.output);
    shapes.push_back(planned);
  }
  std::vector<Planned> plan;
  for (int64_t i = 0; i < warm_ups; ++i) {
    // Of the smaller prompt: it is there to open the connection and wake the machine.
    plan.push_back(shapes[a.prompt < b.prompt ? 0 : 1]);
    plan.back().output = std::min<int64_t>(plan.back().output, 16);
    plan.back().arm = "warm-up";
    plan.back().is_warm_up = true;
    plan.back().repetition = i;
  }
  for (Planned& planned : interleave(shapes, repetitions, seed)) plan.push_back(std::move(planned));
  return plan;
}

std::optional<Comparison> conclude_comparison(std::span<const RequestRecord> records,
                                              uint64_t seed) {
  Comparison result;
  result.a = half_of(records, "a");
  result.b = half_of(records, "b");
  if (result.a.n < 2 || result.b.n < 2) return std::nullopt;
  for (const RequestRecord& record : records) {
    result.failed += !record.asked.is_warm_up && record.state != RequestState::kSuccess;
  }
  const auto a_draws = mean_draws(result.a.e2e_ms, seed, 1);
  const auto b_draws = mean_draws(result.b.e2e_ms, seed, 2);
  std::vector<double> ratios(a_draws.size());
  for (size_t draw = 0; draw < ratios.size(); ++draw) ratios[draw] = a_draws[draw] / b_draws[draw];
  result.a.mean_ms.interval = middle_of(a_draws);
  result.b.mean_ms.interval = middle_of(b_draws);
  result.ratio = {result.a.mean_ms.value / result.b.mean_ms.value, middle_of(ratios)};
  if (result.ratio.interval.low > 1) result.slower = Slower::kA;
  if (result.ratio.interval.high < 1) result.slower = Slower::kB;
  const Shape a{result.a.prompt, result.a.output}, b{result.b.prompt, result.b.output};
  result.by_output = larger(a.output, b.output);
  result.by_total = larger(a.prompt + a.output, b.prompt + b.output);
  result.flips_at = flip_rate(a, b);
  result.exchange = exchange_of(result.a, result.b, seed);
  result.claimed_ratio =
      weighted_tokens(a, kClaimedExchange) / weighted_tokens(b, kClaimedExchange);
  return result;
}

Json comparison_json(const Comparison& comparison, const Conditions& conditions) {
  Json json;
  json["kind"] = "compare";
  json["conditions"] = conditions_json(conditions);
  json["a"] = half_json(comparison.a);
  json["b"] = half_json(comparison.b);
  json["failed"] = comparison.failed;
  json["slower"] = slower_name(comparison.slower);
  json["ratio"] = estimate_json(comparison.ratio);
  const auto rule = [&](Slower says) {
    Json entry;
    entry["says"] = slower_name(says);
    const bool is_known = comparison.slower != Slower::kCannotTell && says != Slower::kCannotTell;
    entry["right"] = is_known ? Json(says == comparison.slower) : Json();
    return entry;
  };
  json["by_output_length"] = rule(comparison.by_output);
  json["by_total_tokens"] = rule(comparison.by_total);
  json["exchange_rate"] = comparison.exchange ? estimate_json(*comparison.exchange) : Json();
  json["order_turns_at_exchange_rate"] = comparison.flips_at;
  json["claim"]["exchange_rate"] = kClaimedExchange;
  json["claim"]["ratio"] = comparison.claimed_ratio;
  return json;
}

}  // namespace pawl::lab
