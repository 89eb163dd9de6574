// SPDX-License-Identifier: Apache-2.0
#include "lab/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/rng.h"

namespace pawl::lab {
namespace {

constexpr uint64_t kPerTokenStream = 0x9E3779B97F4A7C15;  // another stream of the same seed
constexpr int64_t kFewestTokens = 8;  // the time per token of fewer is mostly jitter of the first

bool is_fitted(const Point& point) {
  return point.arm == kPromptArm || point.arm == kOutputArm;
}

size_t different(std::span<const Sample> samples) {
  std::vector<double> places;
  for (const Sample& sample : samples) places.push_back(sample.x);
  std::sort(places.begin(), places.end());
  return static_cast<size_t>(std::unique(places.begin(), places.end()) - places.begin());
}

Estimate estimate(const Fit& fit, const Bootstrap& bootstrap, const std::vector<double>& factors) {
  double value = 0;
  for (size_t k = 0; k < factors.size(); ++k) value += factors[k] * fit.coefficients[k];
  return {value, bootstrap.interval(factors)};
}

}  // namespace

void Split::fit_start_up(std::span<const Point> points) {
  std::vector<Sample> samples;
  std::vector<double> lengths;
  for (const Point& point : points) {
    if (!is_fitted(point)) continue;
    samples.push_back({static_cast<double>(point.prompt) - head_, point.ttft_ms});
    lengths.push_back(samples.back().x);
  }
  const auto part = [&](std::vector<int> powers) -> std::optional<Part> {
    auto fit = fit_curve(samples, std::move(powers));
    if (!fit.ok()) return std::nullopt;
    Bootstrap bootstrap(*fit, seed_);
    return Part{std::move(fit).value(), std::move(bootstrap), lengths};
  };
  auto line = different(samples) >= 3 ? part({0, 1}) : std::nullopt;
  if (!line) {
    symptoms_.push_back({SymptomKind::kTooFew, true,
                         fmt::format("time to first token: {} requests of {} prompt lengths, a "
                                     "line needs three lengths",
                                     samples.size(), different(samples))});
    return;
  }
  // The quadratic term is kept where its interval says that it is there.
  auto bent = different(samples) >= 4 ? part({0, 1, 2}) : std::nullopt;
  const bool bends = bent && bent->bootstrap.interval(bent->fit.coefficient_factors(2)).low > 0;
  auto chosen = bends && bent->fit.coefficient(1) > 0 ? std::move(bent) : std::move(line);
  const Interval start = chosen->bootstrap.interval(chosen->fit.coefficient_factors(0));
  if (chosen->fit.coefficient(0) < 0 && start.high >= 0) {
    symptoms_.push_back({SymptomKind::kNoStartUp, false,
                         fmt::format("the start-up is not to be told from 0 ({:.2f} to {:.2f} ms) "
                                     "and is left out of the fit",
                                     start.low, start.high)});
    chosen = part(chosen->fit.powers.size() == 3 ? std::vector<int>{1, 2} : std::vector<int>{1});
  }
  for (Symptom& symptom : steps_in(chosen->fit, "time to first token")) {
    symptoms_.push_back(std::move(symptom));
  }
  const Interval slope = chosen->bootstrap.interval(chosen->fit.coefficient_factors(1));
  if (slope.low <= 0 && slope.high >= 0) {
    symptoms_.push_back(
        {SymptomKind::kFlatArm, true,
         fmt::format("the time to first token does not grow with the prompt ({:.4f} "
                     "to {:.4f} ms per token): a cache, or a prompt that is cut",
                     slope.low, slope.high)});
    return;
  }
  std::vector<Symptom> signs = signs_in(chosen->fit, "time to first token");
  symptoms_.insert(symptoms_.end(), signs.begin(), signs.end());
  if (signs.empty()) start_up_ = std::move(chosen);
}

void Split::fit_per_token(std::span<const Point> points) {
  std::vector<Sample> samples;
  std::vector<double> lengths;
  for (const int64_t fewest : {kFewestTokens, int64_t{2}}) {
    samples.clear(), lengths.clear();
    for (const Point& point : points) {
      if (!is_fitted(point) || !point.tpot_ms || *point.tpot_ms <= 0) continue;
      if (point.output < fewest) continue;
      samples.push_back({point.context(), *point.tpot_ms});
      lengths.push_back(static_cast<double>(point.output));
    }
    if (different(samples) >= 3) break;
  }
  const auto part = [&](std::vector<int> powers) -> std::optional<Part> {
    auto fit = fit_curve(samples, std::move(powers));
    if (!fit.ok()) return std::nullopt;
    Bootstrap bootstrap(*fit, seed_ ^ kPerTokenStream);
    return Part{std::move(fit).value(), std::move(bootstrap), lengths};
  };
  auto line = different(samples) >= 3 ? part({0, 1}) : std::nullopt;
  const bool grows = line && line->bootstrap.interval(line->fit.coefficient_factors(1)).low > 0;
  auto chosen = grows ? std::move(line) : part({0});
  if (!chosen) {
    symptoms_.push_back({SymptomKind::kTooFew, true,
                         fmt::format("time per output token: {} requests with more than one token",
                                     samples.size())});
    return;
  }
  std::vector<Symptom> signs = signs_in(chosen->fit, "time per output token");
  symptoms_.insert(symptoms_.end(), signs.begin(), signs.end());
  if (signs.empty()) per_token_ = std::move(chosen);
}

Split Split::of(std::span<const Point> points, uint64_t seed) {
  Split split;
  split.seed_ = seed;
  split.head_ = static_cast<double>(shared_head(points));
  bool is_first = true;
  for (const Point& point : points) {
    if (!is_fitted(point)) continue;
    const auto prompt = static_cast<double>(point.prompt);
    const auto output = static_cast<double>(point.output);
    if (is_first) split.prompts_ = {prompt, prompt}, split.outputs_ = {output, output};
    is_first = false;
    split.prompts_ = {std::min(split.prompts_.low, prompt), std::max(split.prompts_.high, prompt)};
    split.outputs_ = {std::min(split.outputs_.low, output), std::max(split.outputs_.high, output)};
  }
  split.fit_start_up(points);
  split.fit_per_token(points);
  return split;
}

Estimate Split::start_up_coefficient(int power) const {
  PAWL_CHECK(is_usable());
  const auto& powers = start_up_->fit.powers;
  if (std::find(powers.begin(), powers.end(), power) == powers.end()) return {};
  return estimate(start_up_->fit, start_up_->bootstrap, start_up_->fit.coefficient_factors(power));
}

Estimate Split::per_token_coefficient(int power) const {
  PAWL_CHECK(is_usable());
  const auto& powers = per_token_->fit.powers;
  if (std::find(powers.begin(), powers.end(), power) == powers.end()) return {};
  return estimate(per_token_->fit, per_token_->bootstrap,
                  per_token_->fit.coefficient_factors(power));
}

Estimate Split::first_token_ms(double prompt) const {
  PAWL_CHECK(is_usable());
  return estimate(start_up_->fit, start_up_->bootstrap,
                  start_up_->fit.value_factors(prompt - head_));
}

double Split::first_token_at(double prompt) const {
  PAWL_CHECK(start_up_.has_value());
  return start_up_->fit.at(prompt - head_);
}

Estimate Split::prompt_token_ms(double prompt) const {
  PAWL_CHECK(is_usable());
  return estimate(start_up_->fit, start_up_->bootstrap,
                  start_up_->fit.slope_factors(prompt - head_));
}

Estimate Split::output_token_ms(double context) const {
  PAWL_CHECK(is_usable());
  return estimate(per_token_->fit, per_token_->bootstrap, per_token_->fit.value_factors(context));
}

Estimate Split::exchange_rate(double prompt, double context) const {
  PAWL_CHECK(is_usable());
  std::vector<double> rates = per_token_->bootstrap.values(per_token_->fit.value_factors(context));
  const std::vector<double> slopes =
      start_up_->bootstrap.values(start_up_->fit.slope_factors(prompt - head_));
  for (size_t draw = 0; draw < rates.size(); ++draw) rates[draw] /= slopes[draw];
  return {per_token_->fit.at(context) / start_up_->fit.slope_at(prompt - head_), middle_of(rates)};
}

std::vector<double> Split::mean_request_draws(double prompt, double output) const {
  PAWL_CHECK(is_usable());
  std::vector<double> draws =
      start_up_->bootstrap.values(start_up_->fit.value_factors(prompt - head_));
  if (output <= 1) return draws;
  const std::vector<double> tail =
      per_token_->bootstrap.values(per_token_->fit.value_factors(prompt + output / 2));
  for (size_t draw = 0; draw < draws.size(); ++draw) draws[draw] += (output - 1) * tail[draw];
  return draws;
}

double Split::mean_request_at(double prompt, double output) const {
  PAWL_CHECK(is_usable());
  const double tail = output > 1 ? (output - 1) * per_token_->fit.at(prompt + output / 2) : 0;
  return start_up_->fit.at(prompt - head_) + tail;
}

Estimate Split::mean_request_ms(double prompt, double output) const {
  return {mean_request_at(prompt, output), middle_of(mean_request_draws(prompt, output))};
}

// Relative noise of single requests, one value for each draw: residuals of the requests most like
// it, smoothed by a normal kernel, as few residuals have no tails.
std::vector<double> Split::noise(const Part& part, double length, uint64_t stream) const {
  constexpr size_t kLike = 20;
  const size_t n = part.fit.residuals.size();
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) {
    const auto distance = [&](size_t k) { return std::abs(std::log(part.lengths[k] / length)); };
    return distance(i) < distance(j);
  });
  // Requests of the same length as the last one taken are as much like it.
  size_t taken = std::min(kLike, n);
  while (taken < n && part.lengths[order[taken]] == part.lengths[order[taken - 1]]) ++taken;
  std::vector<double> residuals;
  for (size_t k = 0; k < taken; ++k) {
    const double leverage = std::min(part.fit.leverage[order[k]], 0.99);
    residuals.push_back(part.fit.residuals[order[k]] / std::sqrt(1 - leverage));
  }
  const double width = 1.06 * deviation_of(residuals) * std::pow(static_cast<double>(taken), -0.2);
  std::vector<double> values(kDefaultDraws);
  for (size_t draw = 0; draw < values.size(); ++draw) {
    const double at = base::uniform(seed_ + stream, draw, 0) * static_cast<double>(taken);
    values[draw] = residuals[std::min(static_cast<size_t>(at), taken - 1)] +
                   width * standard_normal(seed_ + stream, draw);
  }
  return values;
}

Estimate Split::single_request_ms(double prompt, double output) const {
  PAWL_CHECK(is_usable());
  std::vector<double> draws =
      start_up_->bootstrap.values(start_up_->fit.value_factors(prompt - head_));
  const std::vector<double> first = noise(*start_up_, std::max(prompt - head_, 1.0), 1);
  for (size_t draw = 0; draw < draws.size(); ++draw) draws[draw] *= 1 + first[draw];
  if (output > 1) {
    const std::vector<double> tail =
        per_token_->bootstrap.values(per_token_->fit.value_factors(prompt + output / 2));
    const std::vector<double> rest = noise(*per_token_, output, 2);
    for (size_t draw = 0; draw < draws.size(); ++draw) {
      draws[draw] += (output - 1) * tail[draw] * (1 + rest[draw]);
    }
  }
  return {mean_request_ms(prompt, output).value, middle_of(draws)};
}

bool Split::is_inside(double prompt, double output) const {
  return prompt >= prompts_.low && prompt <= prompts_.high && output >= outputs_.low &&
         output <= outputs_.high;
}

}  // namespace pawl::lab
