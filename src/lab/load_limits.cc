// SPDX-License-Identifier: Apache-2.0
// What answers of a load are held against: limits of single answers, limits of percentiles, the
// window in which requests were sent.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "lab/load.h"
#include "lab/stats.h"

namespace pawl::lab {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::array<std::string_view, 4> kMetrics = {"ttft", "tpot", "itl", "e2e"};

// "e2el" is the field's name of "e2e". Nothing for what is no metric.
std::optional<std::string_view> metric_named(std::string_view name) {
  if (name == "e2el") name = "e2e";
  const auto found = std::find(kMetrics.begin(), kMetrics.end(), name);
  return found == kMetrics.end() ? std::nullopt : std::optional(*found);
}

// The text's parts between `mark`; one, empty, for an empty text.
std::vector<std::string_view> parts_of(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(mark);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<double> positive(std::string_view text) {
  double value = 0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = failure == std::errc() && stop == text.data() + text.size();
  return is_whole && value > 0 && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> p99_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return percentile(values, 99);
}

std::vector<double> values_of(const RequestRecord& record, std::string_view name) {
  const Origin from = record.scheduled_ns ? Origin::kScheduled : Origin::kSent;
  if (name == "itl") return inter_token_gaps(record).ms;
  const auto value = name == "ttft"   ? ttft_ms(record, from)
                     : name == "tpot" ? tpot_ms(record)
                                      : e2e_ms(record, from);
  return value ? std::vector{*value} : std::vector<double>{};
}

}  // namespace

Result<Goodput> parse_goodput(std::string_view text) {
  Goodput goodput;
  for (const std::string_view part : parts_of(text, ',')) {
    const auto words = parts_of(part, ':');
    const auto name = metric_named(words[0]);
    const auto ms = words.size() == 2 ? positive(words[1]) : std::nullopt;
    if (!name || !ms) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("'{}' is no limit like ttft:500; there are ttft, tpot, itl and e2e, "
                               "in ms",
                               part),
                   "--goodput"};
    }
    (*name == "ttft"   ? goodput.ttft_ms
     : *name == "tpot" ? goodput.tpot_ms
     : *name == "itl"  ? goodput.itl_ms
                       : goodput.e2e_ms) = ms;
  }
  return goodput;
}

bool is_good(const RequestRecord& record, const Goodput& goodput) {
  if (record.state != RequestState::kSuccess) return false;
  // What an answer has no value of cannot break a limit: one token has no time per token.
  const auto keeps = [](std::optional<double> value, std::optional<double> limit) {
    return !limit || !value || *value <= *limit;
  };
  return keeps(ttft_ms(record), goodput.ttft_ms) && keeps(tpot_ms(record), goodput.tpot_ms) &&
         keeps(p99_of(inter_token_gaps(record).ms), goodput.itl_ms) &&
         keeps(e2e_ms(record), goodput.e2e_ms) && !is_empty_answer(record);
}

Result<std::vector<LoadLimit>> parse_limits(std::string_view text) {
  std::vector<LoadLimit> limits;
  for (const std::string_view part : parts_of(text, ',')) {
    const auto words = parts_of(part, ':');
    const auto name = metric_named(words[0]);
    const bool has_percent = words.size() == 3 && words[1].starts_with('p');
    const double percent = has_percent ? positive(words[1].substr(1)).value_or(0) : 0;
    const double ms = words.size() == 3 ? positive(words[2]).value_or(0) : 0;
    if (!name || percent <= 0 || percent > 100 || ms <= 0) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("'{}' is no limit like ttft:p90:300; there are ttft, tpot, itl and "
                               "e2e, in ms",
                               part),
                   "--limit"};
    }
    limits.push_back({std::string(*name), percent, ms});
  }
  return limits;
}

std::vector<LimitVerdict> judge_limits(const LoadResult& result,
                                       const std::vector<LoadLimit>& limits) {
  constexpr double kNever = 1e300;  // finite, so that a percentile beside it is no NaN
  std::vector<LimitVerdict> verdicts;
  for (const LoadLimit& limit : limits) {
    LimitVerdict verdict{limit, 0, {}, {}};
    std::vector<double> values;
    for (const RequestRecord& record : result.records) {
      const bool is_lost =
          record.state == RequestState::kFailed || record.state == RequestState::kTruncated;
      if (is_lost) values.push_back(kNever);
      if (record.state != RequestState::kSuccess) continue;
      const auto own = values_of(record, limit.name);
      values.insert(values.end(), own.begin(), own.end());
    }
    std::sort(values.begin(), values.end());
    verdict.n = static_cast<int64_t>(values.size());
    if (!values.empty()) {
      const double value = percentile(values, limit.percent);
      const bool is_lost = value > kNever / 1e6;
      if (!is_lost) verdict.value_ms = value;
      verdict.holds = value <= limit.limit_ms;
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

LoadWindow window_of(const LoadResult& result) {
  std::optional<int64_t> first, last;
  int64_t sent = 0, end = result.ended_ns;
  for (const RequestRecord& record : result.records) {
    const int64_t at = record.sent_ns.value_or(record.started_ns);
    first = std::min(first.value_or(at), at);
    last = std::max(last.value_or(at), at);
    if (record.closed_ns) end = std::max(end, *record.closed_ns);
    ++sent;
  }
  LoadWindow window;
  if (!first) return window;
  window.send_s = static_cast<double>(*last - *first) / 1e9;
  window.drain_s = std::max(0.0, static_cast<double>(end - *last) / 1e9);
  if (window.send_s > 0) window.send_rate = static_cast<double>(sent - 1) / window.send_s;
  return window;
}

std::optional<int64_t> reasoning_tokens(const RequestRecord& record) {
  int64_t tokens = 0, chunks = 0, content = 0;
  bool is_stated = true;
  for (const RawEvent& event : record.events) {
    if (!is_content_event(event)) continue;
    ++content;
    if (event.answer_bytes > 0) continue;
    ++chunks;
    is_stated = is_stated && event.tokens.has_value();
    tokens += event.tokens.value_or(0);
  }
  if (chunks == 0) return 0;
  if (is_stated) return tokens;
  const auto all = best_count(record.output);
  if (all && chunks == content) return all->count;
  // As many events as tokens, or one less: each holds one.
  const bool is_single = all && all->count >= content && all->count <= content + 1;
  return is_single ? std::optional(chunks) : std::nullopt;
}

bool has_no_answer_for_budget(const RequestRecord& record) {
  const bool has_text = std::any_of(record.events.begin(), record.events.end(), is_content_event);
  const bool has_answer = std::any_of(record.events.begin(), record.events.end(),
                                      [](const RawEvent& event) { return event.answer_bytes > 0; });
  return record.state == RequestState::kSuccess && record.finish_reason == "length" && has_text &&
         !has_answer;
}

}  // namespace pawl::lab
