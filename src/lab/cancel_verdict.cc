// SPDX-License-Identifier: Apache-2.0
// What follows from a cancelled answer: saved, or not, or nobody can tell.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lab/cancel_check.h"
#include "lab/records_file.h"

namespace pawl::lab {
namespace {

using base::Json;

constexpr std::array<std::string_view, 4> kSources = {"none", "record", "metrics", "probe"};
constexpr std::array<std::string_view, 3> kOutcomes = {"holds", "fails", "unverified"};

CancelVerdict judge_left(const CancelResult& result) {
  if (result.cancelled.state == RequestState::kCancelled) {
    return {"left", Outcome::kHolds,
            fmt::format("left after {} tokens ({})", result.landed, result.landed_source)};
  }
  return {
      "left", Outcome::kFails,
      fmt::format("the answer was over before it could be left: {} tokens landed", result.landed)};
}

// What the server may have decoded besides what landed before it is said to have gone on: the steps
// in which it notices, and what a time measured from here cannot resolve.
int64_t allowance(const CancelOptions& options, const CancelResult& result) {
  if (!result.is_decoded_bound) return options.step_tokens;
  const int64_t rest = result.whole_tokens - result.landed;
  return std::max(options.step_tokens, rest / 5);
}

CancelVerdict judge_stopped(const CancelOptions& options, const CancelResult& result) {
  const int64_t rest = result.whole_tokens - result.landed;
  if (!result.decoded) {
    return {"stopped", Outcome::kUnverified,
            fmt::format("the server may still be computing: it tells nothing, and a short request "
                        "does not have to wait for another; {} tokens unverified",
                        rest)};
  }
  const int64_t extra = *result.decoded - result.landed;
  const std::string counts = fmt::format("{} landed, {}{} decoded of {} ({})", result.landed,
                                         result.is_decoded_bound ? "at most " : "", *result.decoded,
                                         result.whole_tokens, decoded_source_name(result.source));
  if (extra <= allowance(options, result)) return {"stopped", Outcome::kHolds, counts};
  // A bound by time says "went on" only where it is most of the rest.
  if (result.is_decoded_bound && extra < rest / 2) {
    return {"stopped", Outcome::kUnverified, counts + ": too close to tell"};
  }
  return {"stopped", Outcome::kFails, counts + ": the server went on"};
}

CancelVerdict judge_counts(const CancelOptions& options, const CancelResult& result) {
  if (!result.record || !result.decoded) {
    return {"counts", Outcome::kUnverified, "the server keeps no record of the request"};
  }
  const int64_t delivered = result.record->delivered_tokens.value_or(*result.decoded);
  const bool agrees = result.landed <= delivered && delivered <= *result.decoded &&
                      delivered - result.landed <= options.step_tokens;
  return {"counts", agrees ? Outcome::kHolds : Outcome::kFails,
          fmt::format("counted as they landed {}, recorded as delivered {}, as decoded {}",
                      result.landed, delivered, *result.decoded)};
}

CancelVerdict judge_usage(const CancelResult& result) {
  const auto& events = result.cancelled.events;
  const bool has_usage = std::any_of(events.begin(), events.end(), [](const RawEvent& event) {
    return event.kind == EventKind::kUsage;
  });
  if (has_usage) return {"usage", Outcome::kFails, "the aborted stream carried a usage event"};
  return {"usage", Outcome::kHolds,
          "no usage event on the aborted stream: only what landed counts"};
}

// What the whole answer took from the token on at which the server stopped, beside the product.
CancelVerdict judge_seconds(const CancelResult& result) {
  const auto whole = e2e_ms(result.whole);
  if (!result.saved_s || !result.decoded || !whole || !result.whole.sent_ns) {
    return {"seconds", Outcome::kUnverified, "no saved tokens are known"};
  }
  int64_t tokens = 0;
  std::optional<double> at_ms;
  for (const RawEvent& event : result.whole.events) {
    if (!is_content_event(event)) continue;
    tokens += event.tokens.value_or(1);
    at_ms = static_cast<double>(event.stamp_ns - *result.whole.sent_ns) / 1e6;
    if (tokens >= *result.decoded) break;
  }
  const double measured_s = (*whole - at_ms.value_or(*whole)) / 1000;
  const double apart = std::abs(measured_s - *result.saved_s);
  const std::string figures = fmt::format(
      "{} tokens · {:.2f} ms = {:.2f} s; the whole answer took {:.2f} s from there",
      result.saved_tokens.value_or(0), *result.ms_per_token, *result.saved_s, measured_s);
  // A tenth, as far as a tenth can be seen. Times per token differ along an answer, on a busy
  // machine by much: only what no such thing explains is a failure.
  constexpr double kLeastS = 0.05;
  if (apart <= std::max(kLeastS, measured_s / 10)) return {"seconds", Outcome::kHolds, figures};
  if (apart <= std::max(4 * kLeastS, measured_s / 2)) {
    return {"seconds", Outcome::kUnverified, figures + ": the rate varied"};
  }
  return {"seconds", Outcome::kFails, figures};
}

CancelVerdict judge_suffix(const CancelResult& result) {
  const auto find = [&](std::string_view name) {
    return std::find_if(result.routes.begin(), result.routes.end(),
                        [&](const SuffixRoute& route) { return route.name == name; });
  };
  const auto whole = find("whole"), direct = find("direct");
  if (whole == result.routes.end() || direct == result.routes.end()) {
    return {"suffix", Outcome::kUnverified, "no route was walked"};
  }
  const bool is_same_text = direct->text == whole->text;
  const bool is_same_prompt = direct->prompt_sha256 == whole->prompt_sha256;
  const bool has_passes = !direct->forward_passes || !direct->decoded_tokens ||
                          *direct->forward_passes >= *direct->decoded_tokens;
  std::string passes;
  if (direct->forward_passes && whole->forward_passes) {
    passes = fmt::format(", {} passes against {}", *direct->forward_passes, *whole->forward_passes);
  }
  if (is_same_text) {
    return {"suffix", Outcome::kFails,
            fmt::format("the direct request gave the true suffix{}", passes)};
  }
  if (is_same_prompt || !has_passes) {
    return {"suffix", Outcome::kFails,
            fmt::format("the direct request shows no computation of its own{}", passes)};
  }
  return {"suffix", Outcome::kHolds,
          fmt::format("the direct request has another prefix and another text{}", passes)};
}

Json route_json(const SuffixRoute& route) {
  Json json;
  json["name"] = route.name;
  json["prompt_sha256"] = route.prompt_sha256;
  json["sha256_of"] = route.is_digest_of_ids ? "ids" : "text";
  json["prompt_tokens"] = route.prompt_tokens;
  json["decoded_tokens"] = route.decoded_tokens;
  json["forward_passes"] = route.forward_passes;
  json["total_ms"] = route.ms;
  json["text"] = route.text;
  return json;
}

Json record_facts_json(const RequestFacts& facts) {
  Json json;
  json["state"] = facts.state;
  json["cause"] = facts.cause;
  json["prompt_tokens"] = facts.prompt_tokens;
  json["cached_tokens"] = facts.cached_tokens;
  json["computed_tokens"] = facts.computed_tokens;
  json["completion_tokens"] = facts.completion_tokens;
  json["delivered_tokens"] = facts.delivered_tokens;
  json["forward_passes"] = facts.forward_passes;
  json["decode_ms"] = facts.decode_ms;
  return json;
}

Json answer_json(const RequestRecord& record) {
  Json json;
  json["id"] = record.id;
  json["state"] = request_state_name(record.state);
  json["finish_reason"] = record.finish_reason.empty() ? Json() : Json(record.finish_reason);
  json["ttft_ms"] = ttft_ms(record);
  json["e2e_ms"] = e2e_ms(record);
  json["tpot_ms"] = tpot_ms(record);
  json["closed_ms"] = e2e_close_ms(record);
  json["text"] = record.text;
  return json;
}

}  // namespace

std::string_view decoded_source_name(DecodedSource source) {
  return kSources[static_cast<size_t>(source)];
}
std::string_view outcome_name(Outcome outcome) {
  return kOutcomes[static_cast<size_t>(outcome)];
}

Json verdicts_json(std::span<const CancelVerdict> verdicts) {
  Json json = Json::array();
  for (const CancelVerdict& verdict : verdicts) {
    Json one;
    one["name"] = verdict.name;
    one["outcome"] = outcome_name(verdict.outcome);
    one["reason"] = verdict.reason;
    json.push_back(std::move(one));
  }
  return json;
}

bool CancelResult::has_failed() const {
  return std::any_of(verdicts.begin(), verdicts.end(), [](const CancelVerdict& verdict) {
    return verdict.outcome == Outcome::kFails;
  });
}

void judge_cancel(const CancelOptions& options, CancelResult& result) {
  const CancelVerdict stopped = judge_stopped(options, result);
  const auto seconds = [&](int64_t tokens) -> std::optional<double> {
    if (!result.ms_per_token) return std::nullopt;
    return static_cast<double>(tokens) * *result.ms_per_token / 1000;
  };
  const int64_t rest = std::max<int64_t>(0, result.whole_tokens - result.landed);
  if (result.decoded && stopped.outcome != Outcome::kUnverified) {
    result.saved_tokens = std::max<int64_t>(0, result.whole_tokens - *result.decoded);
    result.saved_s = seconds(*result.saved_tokens);
  } else {
    result.unverified_tokens = rest;
    result.unverified_s = seconds(rest);
  }
  result.verdicts = {judge_left(result),
                     stopped,
                     judge_counts(options, result),
                     judge_usage(result),
                     judge_seconds(result),
                     judge_suffix(result)};
}

Json cancel_json(const CancelResult& result) {
  Json json;
  json["kind"] = "cancel";
  json["conditions"] = conditions_json(result.conditions);
  json["after"] = result.after;
  json["of"] = result.of;
  json["whole_tokens"] = result.whole_tokens;
  json["landed"] = result.landed;
  json["landed_source"] = result.landed_source;
  json["decoded"] = result.decoded;
  json["decoded_is_bound"] = result.is_decoded_bound;
  json["decoded_source"] = decoded_source_name(result.source);
  json["saved_tokens"] = result.saved_tokens;
  json["saved_s"] = result.saved_s;
  json["unverified_tokens"] = result.unverified_tokens;
  json["unverified_s"] = result.unverified_s;
  json["ms_per_token"] = result.ms_per_token;
  json["begins_alike"] = result.begins_alike;
  json["record"] = result.record ? record_facts_json(*result.record) : Json();
  Json probes;
  probes["idle_ms"] = result.probes.idle;
  probes["beside_ms"] = result.probes.beside;
  probes["rest_ms"] = result.probes.rest;
  probes["after_ms"] = result.probes.after;
  json["probes"] = std::move(probes);
  json["whole"] = answer_json(result.whole);
  json["cancelled"] = answer_json(result.cancelled);
  json["true_suffix"] = result.true_suffix;
  json["routes"] = Json::array();
  for (const SuffixRoute& route : result.routes) json["routes"].push_back(route_json(route));
  json["verdicts"] = verdicts_json(result.verdicts);
  json["holds"] = !result.has_failed();
  return json;
}

}  // namespace pawl::lab
