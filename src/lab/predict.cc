// SPDX-License-Identifier: Apache-2.0
#include "lab/predict.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/sweep.h"

namespace pawl::lab {

using base::Json;

namespace {

constexpr double kSimilarPrompts = 2;

Estimate scaled(const Estimate& estimate, double factor) {
  return {estimate.value * factor,
          {estimate.interval.low * factor, estimate.interval.high * factor}};
}

Estimate sum_of(const Estimate& a, const Estimate& b) {
  return {a.value + b.value, {a.interval.low + b.interval.low, a.interval.high + b.interval.high}};
}

double context_of(const Shape& shape) {
  return shape.prompt + shape.output / 2;
}

std::optional<Estimate> output_token_ms(const Side& side) {
  if (side.deployment != nullptr) {
    return deployment_output_token_ms(*side.deployment, context_of(side.shape));
  }
  if (side.split == nullptr || !side.split->is_usable()) return std::nullopt;
  return side.split->output_token_ms(context_of(side.shape));
}

std::optional<Estimate> request_ms(const Side& side) {
  const Shape& shape = side.shape;
  if (side.split != nullptr) {
    if (!side.split->is_usable()) return std::nullopt;
    return side.split->single_request_ms(shape.prompt, shape.output);
  }
  const auto token = output_token_ms(side);
  if (side.deployment == nullptr || !token) return std::nullopt;
  const auto prompt = deployment_prompt_token_ms(*side.deployment);
  if (!prompt && shape.prompt > 0) return std::nullopt;
  const double start = side.deployment->start_ms;
  Estimate sum = sum_of(scaled(*token, shape.output), {start, {start, start}});
  return prompt ? sum_of(sum, scaled(*prompt, shape.prompt)) : sum;
}

bool is_one_place(const Side& a, const Side& b) {
  return a.profile == b.profile && a.deployment == b.deployment;
}

RuleAnswer by_output_length(const Side& a, const Side& b) {
  RuleAnswer answer;
  answer.name = "output length";
  answer.reasons = outside_fence(a, b);
  answer.state = answer.reasons.empty() ? RuleState::kAnswers : RuleState::kRefuses;
  if (answer.reasons.empty() && a.shape.output != b.shape.output) {
    answer.slower = a.shape.output > b.shape.output ? Slower::kA : Slower::kB;
  }
  return answer;
}

RuleAnswer from_times(std::string name, const std::optional<Estimate>& a,
                      const std::optional<Estimate>& b, std::string_view lacks) {
  RuleAnswer answer;
  answer.name = std::move(name);
  answer.a_ms = a;
  answer.b_ms = b;
  if (!a || !b) {
    answer.reasons.push_back(fmt::format("{}: no {}", !a && !b ? "both" : (!a ? "a" : "b"), lacks));
    return answer;
  }
  answer.state = RuleState::kAnswers;
  answer.slower = slower_of(a->interval, b->interval);
  return answer;
}

std::string shape_text(const Shape& shape) {
  return fmt::format("{:.0f},{:.0f}", shape.prompt, shape.output);
}

void note_side(std::string_view name, const Side& side, std::vector<std::string>& notes) {
  if (side.split != nullptr && side.split->is_usable() &&
      !side.split->is_inside(side.shape.prompt, side.shape.output)) {
    notes.push_back(
        fmt::format("{}: {} lies outside of what was measured (prompts {:.0f} to {:.0f}, "
                    "outputs {:.0f} to {:.0f}): extrapolated",
                    name, shape_text(side.shape), side.split->prompt_range().low,
                    side.split->prompt_range().high, side.split->output_range().low,
                    side.split->output_range().high));
  }
  if (side.profile != nullptr) {
    for (const std::string& reason : side.profile->void_because) {
      notes.push_back(fmt::format("{}: its profile is void: {}", name, reason));
    }
  }
}

}  // namespace

std::vector<std::string> outside_fence(const Side& a, const Side& b) {
  std::vector<std::string> reasons;
  if (a.profile != nullptr && b.profile != nullptr && a.profile != b.profile) {
    for (const Difference& difference : differences(a.profile->conditions, b.profile->conditions)) {
      reasons.push_back(fmt::format("{}: {} / {}", difference.name, difference.a, difference.b));
    }
  } else if (a.deployment != b.deployment && a.deployment != nullptr && b.deployment != nullptr) {
    if (a.deployment->model != b.deployment->model) {
      reasons.push_back(fmt::format("model: {} / {}", a.deployment->model, b.deployment->model));
    }
    if (a.deployment->machine != b.deployment->machine) {
      reasons.push_back(
          fmt::format("machine: {} / {}", a.deployment->machine, b.deployment->machine));
    }
  } else if (!is_one_place(a, b)) {
    reasons.push_back(fmt::format("place: {} / {}", a.place.empty() ? "not known" : a.place,
                                  b.place.empty() ? "not known" : b.place));
  }
  const double shorter = std::min(a.shape.prompt, b.shape.prompt);
  const double longer = std::max(a.shape.prompt, b.shape.prompt);
  if (longer > kSimilarPrompts * shorter) {
    reasons.push_back(
        fmt::format("prompt length: {:.0f} / {:.0f}", a.shape.prompt, b.shape.prompt));
  }
  return reasons;
}

Prediction predict(const Side& a, const Side& b) {
  Prediction prediction;
  prediction.rules.push_back(by_output_length(a, b));
  const auto tail = [](const Side& side) -> std::optional<Estimate> {
    const auto token = output_token_ms(side);
    return token ? std::optional(scaled(*token, side.shape.output)) : std::nullopt;
  };
  prediction.rules.push_back(from_times("tokens / rate", tail(a), tail(b), "measured rate"));
  prediction.rules.push_back(
      from_times("full fit", request_ms(a), request_ms(b), "fit of start-up and tail"));
  note_side("a", a, prediction.notes);
  note_side("b", b, prediction.notes);
  if (is_one_place(a, b)) {
    prediction.flips_at = flip_rate(a.shape, b.shape);
    if (a.split != nullptr && a.split->is_usable()) {
      const double prompt = (a.shape.prompt + b.shape.prompt) / 2;
      const double context = (context_of(a.shape) + context_of(b.shape)) / 2;
      prediction.exchange = a.split->exchange_rate(prompt, context);
    } else if (a.deployment != nullptr && a.deployment->exchange_rate) {
      const double rate = *a.deployment->exchange_rate;
      prediction.exchange = Estimate{rate, {rate, rate}};
    }
  }
  return prediction;
}

Json prediction_json(const Side& a, const Side& b, const Prediction& prediction) {
  Json json;
  json["kind"] = "predict";
  const auto side_json = [](const Side& side) {
    Json entry;
    entry["prompt"] = side.shape.prompt;
    entry["output"] = side.shape.output;
    entry["place"] = side.place.empty() ? Json() : Json(side.place);
    if (side.profile != nullptr) entry["conditions"] = conditions_json(side.profile->conditions);
    if (side.deployment != nullptr) {
      entry["conditions"]["model"] = side.deployment->model;
      entry["conditions"]["machine"] = side.deployment->machine;
      entry["conditions"]["source"] = "published sizes, not measured here";
    }
    return entry;
  };
  json["a"] = side_json(a);
  json["b"] = side_json(b);
  json["rules"] = Json::array();
  for (const RuleAnswer& rule : prediction.rules) {
    Json entry;
    entry["name"] = rule.name;
    entry["state"] = rule.state == RuleState::kAnswers
                         ? "answers"
                         : (rule.state == RuleState::kRefuses ? "refuses" : "lacks");
    entry["slower"] = rule.state == RuleState::kAnswers ? Json(slower_name(rule.slower)) : Json();
    entry["a_ms"] = rule.a_ms ? estimate_json(*rule.a_ms) : Json();
    entry["b_ms"] = rule.b_ms ? estimate_json(*rule.b_ms) : Json();
    entry["reasons"] = Json::array();
    for (const std::string& reason : rule.reasons) entry["reasons"].push_back(reason);
    json["rules"].push_back(std::move(entry));
  }
  json["notes"] = Json::array();
  for (const std::string& note : prediction.notes) json["notes"].push_back(note);
  json["exchange_rate"] = prediction.exchange ? estimate_json(*prediction.exchange) : Json();
  json["order_turns_at_exchange_rate"] = prediction.flips_at;
  return json;
}

}  // namespace pawl::lab
