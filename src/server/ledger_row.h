// SPDX-License-Identifier: Apache-2.0
// One request as the ledger records it: what was asked, what was computed, what was delivered, and
// how it ended. One row per HTTP request, however many sequences it had.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "engine/event_sink.h"

namespace pawl::server {

enum class RowState {
  kRunning,      // accepted, not over
  kStop,         // an end token or a stop string
  kLength,       // max_tokens, or the end of the context
  kCancelled,    // see CancelCause
  kError,        // `error` says why
  kInterrupted,  // its server ended without ending it; found at the next start
};

enum class CancelCause { kNone, kClientClosed, kDeleted, kDeadline, kSlowReader, kShutdown };

// snake_case, as they stand in the file, in JSON and in metrics. kNone has no name: "".
std::string_view row_state_name(RowState state);
std::string_view cancel_cause_name(CancelCause cause);
std::optional<RowState> parse_row_state(std::string_view name);
std::optional<CancelCause> parse_cancel_cause(std::string_view name);

struct LedgerRow {
  std::string id;           // as the reply carries it; never used twice
  int64_t received_ms = 0;  // UTC, milliseconds since 1970
  std::string key_name;     // the name of the API key, never the key; empty without keys
  std::string model;
  std::string route;         // "/v1/chat/completions"
  std::string trace_parent;  // W3C traceparent of the client, or empty
  bool is_stream = false;

  // Tokens. Of the prompt: what the client sent, once for each prompt. Cached and computed are
  // summed over the sequences, so n = 4 may compute a prompt four times; computed counts positions
  // of prompt and completion, those again that a preemption threw away included.
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t computed_tokens = 0;
  int64_t completion_tokens = 0;      // selected, whether or not anybody received them
  int64_t forced_tokens = 0;          // of these, the only ones a grammar allowed
  int64_t accepted_draft_tokens = 0;  // of these, proposed by a draft
  int64_t delivered_tokens = 0;       // of these, whose bytes were handed to the socket
  int64_t forward_passes = 0;
  int64_t preemptions = 0;

  // Nothing where that stage was not reached: queue = received → first scheduled, prefill = → first
  // token, decode = → last token, total = received → over.
  std::optional<double> queue_ms;
  std::optional<double> prefill_ms;
  std::optional<double> decode_ms;
  std::optional<double> total_ms;

  RowState state = RowState::kRunning;
  CancelCause cause = CancelCause::kNone;  // with kCancelled only
  std::string error;                       // with kError: one line, no prompt text
  int http_status = 0;                     // 0: no status line was sent
};

// The row with what its sequences ended with: token counts are summed (prompt_tokens, delivered and
// HTTP status stay the caller's), times run from the first that was received to the last that
// ended, and the state is the worst: error, cancelled, length, stop. `cause` says who cancelled;
// with kNone it is what the engine says, its deadline or its shutdown. REQUIRES: at least one
LedgerRow ended_row(LedgerRow row, std::span<const engine::Finished> sequences,
                    CancelCause cause = CancelCause::kNone);

// What GET /v1/requests/{id} and `pawl usage --json` give for a row: a flat object. Times that are
// not there are null.
base::Json row_json(const LedgerRow& row);

// Milliseconds since 1970, UTC.
int64_t utc_now_ms();

}  // namespace pawl::server
