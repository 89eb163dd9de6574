// SPDX-License-Identifier: Apache-2.0
// The figures of a load, under the names of the field.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lab/load.h"
#include "lab/stats.h"

namespace pawl::lab {
namespace {

using base::Json;

// mean_ttft_ms, median_…, std_…, p90_…, p95_…, p99_…; null where there is no value.
void put_times(Json& json, Json& samples, std::string_view name,
               const std::vector<double>& values) {
  const auto summary = summarize(values);
  const auto put = [&](std::string_view statistic, std::optional<double> value) {
    json[fmt::format("{}_{}_ms", statistic, name)] = value;
  };
  const auto figure = [&](double Summary::*member) {
    return summary ? std::optional((*summary).*member) : std::nullopt;
  };
  const auto rank = [&](Percentile Summary::*member) {
    return summary ? std::optional(((*summary).*member).value) : std::nullopt;
  };
  put("mean", figure(&Summary::mean));
  put("median", rank(&Summary::p50));
  put("std", figure(&Summary::deviation));
  put("p90", rank(&Summary::p90));
  put("p95", rank(&Summary::p95));
  put("p99", rank(&Summary::p99));
  Json one;
  one["n"] = summary ? summary->n : 0;
  one["p99_of_few"] = summary && summary->p99.is_few;
  samples[name] = std::move(one);
}

bool counts_for_first_token(const RequestRecord& record) {
  return record.state == RequestState::kSuccess || record.state == RequestState::kCancelled;
}

using Metric = std::optional<double> (*)(const RequestRecord&, Origin);

std::vector<double> values_of(const std::vector<RequestRecord>& records, Metric metric, Origin from,
                              bool with_cancelled) {
  std::vector<double> values;
  for (const RequestRecord& record : records) {
    const bool counts =
        with_cancelled ? counts_for_first_token(record) : record.state == RequestState::kSuccess;
    if (!counts) continue;
    if (const auto value = metric(record, from)) values.push_back(*value);
  }
  return values;
}

// The sum over the successes; nothing when one of them has no count.
std::optional<int64_t> total_tokens(const std::vector<RequestRecord>& records,
                                    TokenCounts RequestRecord::*counts) {
  int64_t total = 0;
  for (const RequestRecord& record : records) {
    if (record.state != RequestState::kSuccess) continue;
    const auto count = best_count(record.*counts);
    if (!count) return std::nullopt;
    total += count->count;
  }
  return total;
}

Json states_json(const StateCounts& counts) {
  Json json;
  json["sent"] = counts.sent;
  json["success"] = counts.success;
  json["failed"] = counts.failed;
  json["truncated"] = counts.truncated;
  json["cancelled_by_us"] = counts.cancelled;
  json["in_flight"] = counts.in_flight;
  json["empty"] = counts.empty;
  json["no_answer_budget"] = counts.no_answer_budget;
  return json;
}

Json errors_json(const std::vector<RequestRecord>& records) {
  std::map<std::pair<std::string_view, std::string>, int64_t> reasons;
  for (const RequestRecord& record : records) {
    if (!record.error.empty()) ++reasons[{failure_kind_name(record.failure), record.error}];
  }
  Json list = Json::array();
  for (const auto& [reason, count] : reasons) {
    Json one;
    one["kind"] = reason.first;
    one["error"] = reason.second;
    one["count"] = count;
    list.push_back(std::move(one));
  }
  return list;
}

Json client_json(const ClientWatch& watch) {
  Json json;
  Json samples;
  put_times(json, samples, "wake_late", watch.wake_late_ms);
  put_times(json, samples, "send_late", watch.send_late_ms);
  json["held_by_cap"] = watch.held_by_cap;
  json["cpu_share"] = watch.cpu_share;
  const auto fault = client_fault(watch);
  json["is_void"] = fault.has_value();
  json["fault"] = fault ? Json(*fault) : Json();
  return json;
}

void put_prompts(Json& json, const std::vector<RequestRecord>& records) {
  std::set<std::string_view> distinct;
  int64_t cached = 0, prompt = 0, told = 0;
  for (const RequestRecord& record : records) {
    distinct.insert(record.asked.prompt_digest);
    const auto count = best_count(record.prompt);
    if (!record.cached_tokens || !count) continue;
    ++told;
    cached += *record.cached_tokens;
    prompt += count->count;
  }
  json["distinct_prompts"] = static_cast<int64_t>(distinct.size());
  json["cached_share"] = told > 0 && prompt > 0
                             ? Json(static_cast<double>(cached) / static_cast<double>(prompt))
                             : Json();
}

void put_token_gaps(Json& json, Json& samples, const std::vector<RequestRecord>& records) {
  std::vector<double> token_gaps, gaps;
  int64_t chunks = 0, several = 0, unknown = 0;
  for (const RequestRecord& record : records) {
    if (record.state != RequestState::kSuccess) continue;
    const TokenGaps own = inter_token_gaps(record);
    token_gaps.insert(token_gaps.end(), own.ms.begin(), own.ms.end());
    for (const ChunkGap& gap : chunk_gaps(record)) gaps.push_back(gap.ms);
    unknown += own.split == TokenSplit::kUnknown && own.chunks > 0 ? 1 : 0;
    chunks += own.chunks;
    several += own.multi_token_chunks;
  }
  put_times(json, samples, "itl", token_gaps);
  put_times(json, samples, "chunk_gap", gaps);
  json["multi_token_chunk_share"] =
      chunks > 0 ? Json(static_cast<double>(several) / static_cast<double>(chunks)) : Json();
  json["answers_without_token_count"] = unknown;
}

void put_throughput(Json& json, const LoadResult& result, const StateCounts& counts,
                    const std::optional<Goodput>& limits) {
  const double seconds = static_cast<double>(result.ended_ns - result.started_ns) / 1e9;
  const auto per_second = [&](std::optional<int64_t> count) -> std::optional<double> {
    if (!count || seconds <= 0) return std::nullopt;
    return static_cast<double>(*count) / seconds;
  };
  const auto input = total_tokens(result.records, &RequestRecord::prompt);
  const auto output = total_tokens(result.records, &RequestRecord::output);
  json["duration"] = seconds;
  json["completed"] = counts.success;
  json["failed"] = counts.failed + counts.truncated;
  json["total_input_tokens"] = input;
  json["total_output_tokens"] = output;
  json["request_throughput"] = per_second(counts.success);
  json["output_throughput"] = per_second(output);
  json["total_token_throughput"] =
      input && output ? per_second(*input + *output) : std::optional<double>();
  json["request_goodput"] = Json();
  if (!limits) return;
  const auto good = std::count_if(result.records.begin(), result.records.end(),
                                  [&](const auto& record) { return is_good(record, *limits); });
  json["request_goodput"] = per_second(good);
  json["good_requests"] = static_cast<int64_t>(good);
}

// Requests that go on after the last was sent stretch the duration, not the rate of sending.
void put_window(Json& json, const LoadResult& result) {
  const LoadWindow window = window_of(result);
  json["send_window_s"] = window.send_s;
  json["drain_s"] = window.drain_s;
  json["send_rate"] = window.send_rate;
}

// Null where an answer that thinks does not tell how many tokens that took.
void put_reasoning(Json& json, const std::vector<RequestRecord>& records) {
  int64_t total = 0;
  bool is_known = true;
  for (const RequestRecord& record : records) {
    if (record.state != RequestState::kSuccess) continue;
    const auto tokens = reasoning_tokens(record);
    is_known = is_known && tokens.has_value();
    total += tokens.value_or(0);
  }
  json["total_reasoning_tokens"] = is_known ? Json(total) : Json();
}

Json limits_json(const std::vector<LimitVerdict>& verdicts) {
  Json list = Json::array();
  for (const LimitVerdict& verdict : verdicts) {
    Json one;
    one["name"] = verdict.limit.name;
    one["percentile"] = verdict.limit.percent;
    one["limit_ms"] = verdict.limit.limit_ms;
    one["value_ms"] = verdict.value_ms;
    one["n"] = verdict.n;
    one["holds"] = verdict.holds;
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace

StateCounts count_states(const std::vector<RequestRecord>& records, int64_t in_flight) {
  StateCounts counts;
  counts.in_flight = in_flight;
  counts.sent = static_cast<int64_t>(records.size()) + in_flight;
  for (const RequestRecord& record : records) {
    counts.success += record.state == RequestState::kSuccess ? 1 : 0;
    counts.failed += record.state == RequestState::kFailed ? 1 : 0;
    counts.truncated += record.state == RequestState::kTruncated ? 1 : 0;
    counts.cancelled += record.state == RequestState::kCancelled ? 1 : 0;
    counts.empty += is_empty_answer(record) ? 1 : 0;
    counts.no_answer_budget += has_no_answer_for_budget(record) ? 1 : 0;
  }
  return counts;
}

Json load_json(const LoadResult& result, const Conditions& conditions,
               const std::optional<Goodput>& goodput, const std::vector<LoadLimit>& limits) {
  const auto& records = result.records;
  const StateCounts counts = count_states(records);
  Json json, samples;
  json["kind"] = "load";
  json["conditions"] = conditions_json(conditions);
  json["date"] = conditions.date;
  json["model_id"] = conditions.answered_model;
  json["num_prompts"] = counts.sent;
  json["request_rate"] = conditions.rate ? Json(*conditions.rate) : Json("inf");
  json["max_concurrency"] =
      conditions.max_in_flight ? conditions.max_in_flight : conditions.concurrency;
  json["most_in_flight"] = result.most_in_flight;
  put_throughput(json, result, counts, goodput);
  put_window(json, result);
  json["states"] = states_json(counts);
  const auto tpot = [](const RequestRecord& record, Origin) { return tpot_ms(record); };
  put_times(json, samples, "ttft", values_of(records, ttft_ms, Origin::kSent, true));
  put_times(json, samples, "ttft_first_event",
            values_of(records, ttft_first_event_ms, Origin::kSent, true));
  put_times(json, samples, "ttft_first_answer",
            values_of(records, ttft_first_answer_ms, Origin::kSent, true));
  put_times(json, samples, "tpot", values_of(records, tpot, Origin::kSent, false));
  put_token_gaps(json, samples, records);
  put_times(json, samples, "e2el", values_of(records, e2e_ms, Origin::kSent, false));
  Json scheduled;
  Json scheduled_samples;
  put_times(scheduled, scheduled_samples, "ttft",
            values_of(records, ttft_ms, Origin::kScheduled, true));
  put_times(scheduled, scheduled_samples, "e2el",
            values_of(records, e2e_ms, Origin::kScheduled, false));
  json["scheduled"] = std::move(scheduled);
  json["samples"] = std::move(samples);
  put_prompts(json, records);
  put_reasoning(json, records);
  json["limits"] = limits_json(judge_limits(result, limits));
  json["errors"] = errors_json(records);
  json["client"] = client_json(result.client);
  return json;
}

}  // namespace pawl::lab
