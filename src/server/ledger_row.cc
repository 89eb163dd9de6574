// SPDX-License-Identifier: Apache-2.0
#include "server/ledger_row.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace pawl::server {

using base::Json;

namespace {

constexpr std::array<std::string_view, 6> kStateNames = {"running",   "stop",  "length",
                                                         "cancelled", "error", "interrupted"};
constexpr std::array<std::string_view, 6> kCauseNames = {"",         "client_closed", "deleted",
                                                         "deadline", "slow_reader",   "shutdown"};

template <typename Enum, size_t n>
std::optional<Enum> parse_name(const std::array<std::string_view, n>& names,
                               std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

RowState state_of(engine::FinishReason reason) {
  switch (reason) {
    case engine::FinishReason::kStop:
      return RowState::kStop;
    case engine::FinishReason::kLength:
      return RowState::kLength;
    case engine::FinishReason::kCancelled:
    case engine::FinishReason::kDeadline:
    case engine::FinishReason::kShutdown:
      return RowState::kCancelled;
    case engine::FinishReason::kError:
      return RowState::kError;
  }
  return RowState::kError;
}

CancelCause cause_of(engine::FinishReason reason) {
  if (reason == engine::FinishReason::kDeadline) return CancelCause::kDeadline;
  if (reason == engine::FinishReason::kShutdown) return CancelCause::kShutdown;
  return CancelCause::kNone;
}

// The order in which one sequence's end stands for the whole request.
int weight(RowState state) {
  constexpr std::array kBestFirst = {RowState::kStop, RowState::kLength, RowState::kCancelled,
                                     RowState::kError};
  return static_cast<int>(std::find(kBestFirst.begin(), kBestFirst.end(), state) -
                          kBestFirst.begin());
}

// The earliest of two moments; 0 is "did not happen".
int64_t earliest(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return a + b;
  return std::min(a, b);
}

std::optional<double> ms_between(int64_t from_ns, int64_t to_ns) {
  if (from_ns == 0 || to_ns == 0) return std::nullopt;
  return static_cast<double>(to_ns - from_ns) / 1e6;
}

void take_times(LedgerRow& row, std::span<const engine::Finished> sequences) {
  engine::Timeline all;
  for (const engine::Finished& one : sequences) {
    all.received_ns = earliest(all.received_ns, one.timeline.received_ns);
    all.scheduled_ns = earliest(all.scheduled_ns, one.timeline.scheduled_ns);
    all.first_token_ns = earliest(all.first_token_ns, one.timeline.first_token_ns);
    all.last_token_ns = std::max(all.last_token_ns, one.timeline.last_token_ns);
    all.finished_ns = std::max(all.finished_ns, one.timeline.finished_ns);
  }
  row.queue_ms = ms_between(all.received_ns, all.scheduled_ns);
  row.prefill_ms = ms_between(all.scheduled_ns, all.first_token_ns);
  row.decode_ms = ms_between(all.first_token_ns, all.last_token_ns);
  row.total_ms = ms_between(all.received_ns, all.finished_ns);
}

}  // namespace

std::string_view row_state_name(RowState state) {
  return kStateNames[static_cast<size_t>(state)];
}

std::string_view cancel_cause_name(CancelCause cause) {
  return kCauseNames[static_cast<size_t>(cause)];
}

std::optional<RowState> parse_row_state(std::string_view name) {
  return parse_name<RowState>(kStateNames, name);
}

std::optional<CancelCause> parse_cancel_cause(std::string_view name) {
  return parse_name<CancelCause>(kCauseNames, name);
}

LedgerRow ended_row(LedgerRow row, std::span<const engine::Finished> sequences, CancelCause cause) {
  PAWL_CHECK(!sequences.empty());
  row.state = RowState::kStop;
  for (const engine::Finished& one : sequences) {
    row.cached_tokens += one.usage.cached_tokens;
    row.computed_tokens += one.usage.computed_tokens;
    row.completion_tokens += one.usage.completion_tokens;
    row.forced_tokens += one.usage.forced_tokens;
    row.accepted_draft_tokens += one.usage.accepted_draft_tokens;
    row.forward_passes += one.usage.forward_passes;
    row.preemptions += one.usage.preemptions;
    const RowState state = state_of(one.reason);
    if (weight(state) > weight(row.state)) row.state = state;
    if (row.error.empty()) row.error = one.error;
    if (cause == CancelCause::kNone) cause = cause_of(one.reason);
  }
  if (row.state == RowState::kCancelled) row.cause = cause;
  take_times(row, sequences);
  return row;
}

Json row_json(const LedgerRow& row) {
  Json json;
  json["id"] = row.id;
  json["received_ms"] = row.received_ms;
  json["key"] = row.key_name;
  json["model"] = row.model;
  json["route"] = row.route;
  json["traceparent"] = row.trace_parent;
  json["stream"] = row.is_stream;
  json["state"] = row_state_name(row.state);
  json["cause"] = cancel_cause_name(row.cause);
  json["error"] = row.error;
  json["http_status"] = row.http_status == 0 ? Json() : Json(row.http_status);
  json["prompt_tokens"] = row.prompt_tokens;
  json["cached_tokens"] = row.cached_tokens;
  json["computed_tokens"] = row.computed_tokens;
  json["completion_tokens"] = row.completion_tokens;
  json["forced_tokens"] = row.forced_tokens;
  json["accepted_draft_tokens"] = row.accepted_draft_tokens;
  json["delivered_tokens"] = row.delivered_tokens;
  json["forward_passes"] = row.forward_passes;
  json["preemptions"] = row.preemptions;
  json["queue_ms"] = row.queue_ms;
  json["prefill_ms"] = row.prefill_ms;
  json["decode_ms"] = row.decode_ms;
  json["total_ms"] = row.total_ms;
  return json;
}

int64_t utc_now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace pawl::server
