// SPDX-License-Identifier: Apache-2.0
// A sweep's result as JSON: the file that predict, compare and report read.
#include <fmt/format.h>

#include <functional>
#include <map>
#include <tuple>

#include "lab/stats.h"
#include "lab/sweep.h"

namespace pawl::lab {

using base::Json;

Json estimate_json(const Estimate& estimate) {
  Json json;
  json["value"] = estimate.value;
  json["low"] = estimate.interval.low;
  json["high"] = estimate.interval.high;
  return json;
}

Json percentile_json(const Percentile& percentile) {
  Json json;
  json["value"] = percentile.value;
  json["low"] = percentile.low;
  json["high"] = percentile.high;
  json["is_few"] = percentile.is_few;
  return json;
}

Json summary_json(const std::optional<Summary>& summary) {
  if (!summary) return Json();
  Json json;
  json["n"] = summary->n;
  json["missing"] = summary->missing;
  json["mean"] = summary->mean;
  json["deviation"] = summary->deviation;
  json["least"] = summary->least;
  json["most"] = summary->most;
  json["p50"] = percentile_json(summary->p50);
  json["p90"] = percentile_json(summary->p90);
  json["p95"] = percentile_json(summary->p95);
  json["p99"] = percentile_json(summary->p99);
  return json;
}

namespace {

Json curve_json(const Fit& fit) {
  Json json;
  json["powers"] = Json::array();
  json["coefficients"] = Json::array();
  for (size_t k = 0; k < fit.powers.size(); ++k) {
    json["powers"].push_back(fit.powers[k]);
    json["coefficients"].push_back(fit.coefficients[k]);
  }
  json["r2"] = fit.r2;
  json["residuals"] = Json::array();  // x, relative residual
  for (size_t i = 0; i < fit.samples.size(); ++i) {
    json["residuals"].push_back(Json::array_of({Json(fit.samples[i].x), Json(fit.residuals[i])}));
  }
  return json;
}

// The curve and its band over the measured range, for plots.
Json band_json(const Interval& range, const std::function<Estimate(double)>& at) {
  constexpr int kPoints = 41;
  Json json = Json::array();
  for (int i = 0; i < kPoints; ++i) {
    const double x = range.low + (range.high - range.low) * i / (kPoints - 1);
    const Estimate estimate = at(x);
    json.push_back(Json::array_of({Json(x), Json(estimate.value), Json(estimate.interval.low),
                                   Json(estimate.interval.high)}));
  }
  return json;
}

Json fit_json(const Split& split) {
  Json json;
  if (split.start_up() != nullptr) json["first_token"] = curve_json(*split.start_up());
  if (split.per_token() != nullptr) json["output_token"] = curve_json(*split.per_token());
  if (!split.is_usable()) return json;
  const Interval prompts = split.prompt_range();
  Json& coefficients = json["coefficients"];
  coefficients["a_ms"] = estimate_json(split.start_up_coefficient(0));
  coefficients["b_ms"] = estimate_json(split.start_up_coefficient(1));
  if (split.start_up()->coefficient(2) != 0) {
    coefficients["d_ms"] = estimate_json(split.start_up_coefficient(2));
  }
  coefficients["c0_ms"] = estimate_json(split.per_token_coefficient(0));
  coefficients["c1_ms"] = estimate_json(split.per_token_coefficient(1));
  json["exchange_rates"] = Json::array();
  for (const double prompt : {prompts.low, (prompts.low + prompts.high) / 2, prompts.high}) {
    Json rate;
    rate["prompt"] = prompt;
    rate["context"] = prompt;
    rate["rate"] = estimate_json(split.exchange_rate(prompt, prompt));
    json["exchange_rates"].push_back(std::move(rate));
  }
  json["first_token_band"] = band_json(prompts, [&](double x) { return split.first_token_ms(x); });
  const auto& fixed = split.per_token()->samples;
  Interval contexts{fixed.front().x, fixed.front().x};
  for (const Sample& sample : fixed) {
    contexts = {std::min(contexts.low, sample.x), std::max(contexts.high, sample.x)};
  }
  json["output_token_band"] =
      band_json(contexts, [&](double x) { return split.output_token_ms(x); });
  return json;
}

Json shapes_json(std::span<const Point> points) {
  std::map<std::tuple<std::string, int64_t, int64_t>, std::vector<const Point*>> shapes;
  for (const Point& point : points) {
    shapes[{point.arm, point.prompt_asked, point.output_asked}].push_back(&point);
  }
  Json json = Json::array();
  for (const auto& [key, members] : shapes) {
    std::vector<std::optional<double>> first, token, end;
    int64_t prompt = 0, output = 0, cached = 0, told = 0;
    for (const Point* point : members) {
      first.push_back(point->ttft_ms);
      token.push_back(point->tpot_ms);
      end.push_back(point->e2e_ms);
      prompt += point->prompt, output += point->output;
      if (point->cached) cached += *point->cached, told += point->prompt;
    }
    const auto n = static_cast<double>(members.size());
    Json shape;
    shape["arm"] = std::get<0>(key);
    shape["prompt_asked"] = std::get<1>(key);
    shape["prompt_got"] = static_cast<double>(prompt) / n;
    shape["output_asked"] = std::get<2>(key);
    shape["output_got"] = static_cast<double>(output) / n;
    shape["cached_share"] =
        told > 0 ? Json(static_cast<double>(cached) / static_cast<double>(told)) : Json();
    shape["ttft_ms"] = summary_json(summarize(first));
    shape["tpot_ms"] = summary_json(summarize(token));
    shape["e2e_ms"] = summary_json(summarize(end));
    json.push_back(std::move(shape));
  }
  return json;
}

Json additivity_json(std::span<const Additivity> rows) {
  Json json = Json::array();
  for (const Additivity& row : rows) {
    Json entry;
    entry["prompt"] = row.prompt;
    entry["output"] = row.output;
    entry["n"] = row.n;
    entry["measured_ms"] = row.measured_ms;
    entry["predicted_ms"] = estimate_json(row.predicted_ms);
    entry["gap"] = estimate_json(row.gap);
    entry["holds"] = !row.fails;
    json.push_back(std::move(entry));
  }
  return json;
}

void add_optional_parts(const SweepResult& result, Json& json) {
  if (result.held_out) {
    json["held_out"]["n"] = result.held_out->n;
    json["held_out"]["covered"] = result.held_out->covered;
    json["held_out"]["median_error"] = result.held_out->median_error;
  }
  if (result.probe) {
    Json& probe = json["cache_probe"];
    probe["pairs"] = result.probe->pairs;
    probe["first_ms"] = result.probe->first_ms;
    probe["again_ms"] = result.probe->again_ms;
    probe["hit_share"] = result.probe->is_told ? Json(result.probe->hit_share) : Json();
    probe["block"] = result.probe->block;
    probe["is_cached"] = result.probe->is_cached;
    probe["text"] = result.probe->text;
  }
  if (result.streaming) {
    Json& streaming = json["streaming"];
    streaming["n"] = result.streaming->n;
    streaming["streamed_first_ms"] = result.streaming->streamed_first_ms;
    streaming["streamed_end_ms"] = result.streaming->streamed_end_ms;
    streaming["whole_end_ms"] = result.streaming->whole_end_ms;
    streaming["ratio"] = estimate_json(result.streaming->ratio);
    streaming["holds"] = result.streaming->holds;
  }
}

}  // namespace

Json sweep_json(const SweepResult& result) {
  Json json = profile_json(result.profile);
  json["kind"] = "sweep";
  json["requests"] = result.requests;
  json["failed"] = result.failed;
  json["holds"] = result.profile.void_because.empty();
  json["fit"] = fit_json(result.split);
  json["symptoms"] = Json::array();
  for (const Symptom& symptom : result.split.symptoms()) {
    Json entry;
    entry["name"] = symptom_name(symptom.kind);
    entry["refuses"] = symptom.refuses;
    entry["text"] = symptom.text;
    json["symptoms"].push_back(std::move(entry));
  }
  json["verdicts"] = Json::array();
  for (const Verdict& verdict : result.verdicts) json["verdicts"].push_back(verdict_json(verdict));
  json["shapes"] = shapes_json(result.points);
  json["additivity"] = additivity_json(result.additivity);
  add_optional_parts(result, json);
  return json;
}

}  // namespace pawl::lab
