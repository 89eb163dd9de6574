// SPDX-License-Identifier: Apache-2.0
#include "lab/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/stats.h"

namespace pawl::lab {

using base::Json;

namespace {

Planned shape(std::string_view arm, int64_t prompt, int64_t output) {
  Planned planned;
  planned.arm = arm;
  planned.label = shape_label(prompt, output);
  planned.prompt = prompt;
  planned.output = output;
  return planned;
}

}  // namespace

std::vector<Planned> plan_sweep(const SweepOptions& options) {
  std::vector<Planned> plan, shapes;
  for (int64_t i = 0; i < options.warm_ups; ++i) {
    Planned warm_up = shape("warm-up", options.fixed_prompt, options.fixed_output);
    warm_up.is_warm_up = true;
    warm_up.repetition = i;
    plan.push_back(warm_up);
  }
  for (const int64_t prompt : options.prompts) {
    shapes.push_back(shape(kPromptArm, prompt, options.fixed_output));
  }
  for (const int64_t output : options.outputs) {
    shapes.push_back(shape(kOutputArm, options.fixed_prompt, output));
  }
  // Both long at once, and both in the middle.
  const int64_t middle_prompt = options.prompts[options.prompts.size() / 2];
  const int64_t middle_output = options.outputs[options.outputs.size() / 2];
  shapes.push_back(shape(kJointArm, options.prompts.back(), options.outputs.back()));
  if (options.prompts.size() > 2 && options.outputs.size() > 2) {
    shapes.push_back(shape(kJointArm, middle_prompt, middle_output));
  }
  Planned whole = shape(kWholeArm, options.fixed_prompt, options.outputs.back());
  whole.is_stream = false;
  shapes.push_back(whole);
  for (Planned& planned : interleave(shapes, options.repetitions, options.seed)) {
    plan.push_back(std::move(planned));
  }
  for (int64_t pair = 0; pair < options.probe_pairs; ++pair) {
    Planned first = shape(kProbeArm, options.prompts.back(), options.fixed_output);
    first.label = "first";
    first.repetition = pair;
    Planned again = first;
    again.label = "again";
    again.repeats_prompt = true;
    plan.push_back(first);
    plan.push_back(again);
  }
  return plan;
}

Json options_json(const SweepOptions& options) {
  Json json;
  json["prompts"] = Json::array();
  for (const int64_t prompt : options.prompts) json["prompts"].push_back(prompt);
  json["outputs"] = Json::array();
  for (const int64_t output : options.outputs) json["outputs"].push_back(output);
  json["fixed_prompt"] = options.fixed_prompt;
  json["fixed_output"] = options.fixed_output;
  json["repetitions"] = options.repetitions;
  json["seed"] = options.seed;
  return json;
}

std::optional<Streaming> compare_streaming(std::span<const RequestRecord> records, uint64_t seed) {
  std::vector<double> first, streamed, whole;
  std::string label;
  for (const RequestRecord& record : records) {
    if (record.asked.arm == kWholeArm) label = record.asked.label;
  }
  for (const RequestRecord& record : records) {
    if (record.asked.label != label || record.state != RequestState::kSuccess) continue;
    // A whole answer ends when its body does; a stream has its last text then.
    const auto end = record.asked.is_stream ? e2e_ms(record) : e2e_close_ms(record);
    if (!end) continue;
    if (record.asked.arm == kWholeArm) whole.push_back(*end);
    if (record.asked.arm != kOutputArm) continue;
    streamed.push_back(*end);
    first.push_back(ttft_ms(record).value_or(*end));
  }
  if (streamed.size() < 2 || whole.size() < 2) return std::nullopt;
  Streaming result;
  result.n = static_cast<int64_t>(std::min(streamed.size(), whole.size()));
  result.streamed_first_ms = median_of(first);
  result.streamed_end_ms = median_of(streamed);
  result.whole_end_ms = median_of(whole);
  const auto error = [](const std::vector<double>& values) {
    const auto n = static_cast<double>(values.size());
    return (1 + 1.5 / (n - 1)) * deviation_of(values) / std::sqrt(n);
  };
  std::vector<double> ratios(kDefaultDraws);
  for (size_t draw = 0; draw < ratios.size(); ++draw) {
    ratios[draw] = (mean_of(streamed) + error(streamed) * standard_normal(seed, 2 * draw)) /
                   (mean_of(whole) + error(whole) * standard_normal(seed, 2 * draw + 1));
  }
  result.ratio = {mean_of(streamed) / mean_of(whole), middle_of(ratios)};
  const bool is_inside = result.ratio.interval.low <= 1 && 1 <= result.ratio.interval.high;
  result.holds = is_inside || std::abs(result.ratio.value - 1) < kMostGap;
  return result;
}

SweepResult conclude_sweep(std::span<const RequestRecord> records, const Conditions& conditions,
                           uint64_t seed) {
  SweepResult result;
  for (const RequestRecord& record : records) {
    if (record.asked.is_warm_up) continue;
    ++result.requests;
    result.failed += record.state != RequestState::kSuccess;
  }
  for (Point& point : points_of(records)) {
    if (point.arm != kProbeArm && point.arm != kWholeArm) result.points.push_back(std::move(point));
  }
  std::vector<RequestRecord> streamed;
  for (const RequestRecord& record : records) {
    if (record.asked.is_stream && record.asked.arm != kProbeArm) streamed.push_back(record);
  }
  result.profile.conditions = conditions;
  result.profile.seed = seed;
  result.profile.points = without_cut(result.points);
  result.split = Split::of(result.profile.points, seed);
  if (result.split.is_usable()) {
    result.additivity = test_additivity(result.split, result.profile.points, seed);
    result.held_out = predict_held_out(result.split, result.profile.points);
  }
  result.verdicts = judge_all(streamed, result.points, result.split, result.additivity, seed);
  result.probe = read_cache_probe(records);
  result.streaming = compare_streaming(records, seed);
  for (const Symptom& symptom : result.split.symptoms()) {
    if (symptom.refuses) result.profile.void_because.push_back(symptom.text);
  }
  for (const Verdict& verdict : result.verdicts) {
    if (verdict.voids_split) {
      result.profile.void_because.push_back(fmt::format("{}: {}", verdict.name, verdict.text));
    }
  }
  return result;
}

}  // namespace pawl::lab
