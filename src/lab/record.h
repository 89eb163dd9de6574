// SPDX-License-Identifier: Apache-2.0
// What one request looked like from outside: the raw record of its stream, and every metric of
// docs/latency.md as a pure function of that record. Nothing is measured apart from it.
//
// Times are monotonic nanoseconds (base/clock.h) of one process; metrics are milliseconds. A value
// that does not exist is std::nullopt, never 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::lab {

// What an event is, by the strongest of what it holds: error, content, tool call, reasoning, usage,
// role, other. A chunk with text is never "role" or "usage", whatever else is in it.
enum class EventKind {
  kRole,       // announces the speaker; no text
  kContent,    // non-empty text of the answer
  kReasoning,  // non-empty thinking, and no content
  kToolCall,   // non-empty name or arguments of a tool call, and no content
  kUsage,      // token counts; no text
  kDone,       // [DONE]
  kComment,    // a line that begins with ':': a sign of life
  kError,      // an error object, or what is no JSON
  kOther,      // the rest: the chunk with the finish reason, empty deltas
};
std::string_view event_kind_name(EventKind kind);
std::optional<EventKind> parse_event_kind(std::string_view name);

struct RawEvent {
  int64_t stamp_ns = 0;  // when the read returned that ended the event's last line; before parsing
  int32_t read = 0;      // which read of this request that was, from 0
  bool shared_read = false;  // the event before it has the same read, and so the same stamp
  int32_t bytes = 0;         // of the event as received
  EventKind kind = EventKind::kOther;
  int32_t text_bytes = 0;         // UTF-8 bytes of content, reasoning and tool calls
  int32_t answer_bytes = 0;       // of these, what is not reasoning
  std::optional<int32_t> tokens;  // in this event, where the server says so
  std::optional<int32_t> forced;  // of these, not chosen: a format left one way on
};

// Non-empty content, reasoning or tool call: what "content event" means everywhere.
bool is_content_event(const RawEvent& event);

enum class RequestState {
  kSuccess,    // status 200, no error event, a finish reason, and the end of the stream seen
  kFailed,     // another status, an error, no connection, a limit of time
  kTruncated,  // the stream stopped before its end, or ended without a finish reason
  kCancelled,  // by us, on purpose
};
std::string_view request_state_name(RequestState state);
std::optional<RequestState> parse_request_state(std::string_view name);

// Where a request that did not succeed broke.
enum class FailureKind {
  kNone,
  kStatus,       // the server refused: see http_status
  kErrorObject,  // an error object under status 200, as a body or as an event
  kBadEvent,     // an event that is no JSON
  kConnect,      // no connection: refused, limit of time, TLS
  kFirstByte,    // no byte of an answer within the limit
  kIdle,         // silence within an answer, longer than the limit; comments are no silence
  kTotal,        // the whole took longer than the limit
  kBroken,       // the connection broke, or the body ended before its announced end
  kNoFinish,     // the stream ended as it should, without a finish reason
};
std::string_view failure_kind_name(FailureKind kind);
std::optional<FailureKind> parse_failure_kind(std::string_view name);

// One number of tokens, counted in up to three ways. They are kept apart: who uses one says which.
struct TokenCounts {
  std::optional<int64_t> usage;      // the server's "usage"
  std::optional<int64_t> timings;    // the server's "timings"
  std::optional<int64_t> tokenizer;  // the server's /tokenize over the text, after the request
};

struct TokenCount {
  int64_t count = 0;
  std::string_view source;       // "usage", "timings" or "tokenizer"
  bool is_estimated = false;     // the text was tokenized again: not what the server counted
  bool is_contradicted = false;  // another way gave another number
};
// The first there is, in the order of the members.
std::optional<TokenCount> best_count(const TokenCounts& counts);

// What was asked for, and for what.
struct Asked {
  std::string arm;    // of the experiment: "prompt", "output", "load", …; may be empty
  std::string label;  // point within the arm: "512x16"; may be empty
  int64_t repetition = 0;
  bool is_warm_up = false;  // never measured
  bool is_stream = true;
  std::optional<int64_t> prompt_tokens;  // wanted; what it became is in `prompt`
  std::optional<int64_t> output_tokens;  // max_tokens, and min_tokens where the server knows it
  std::optional<int64_t> cancel_after;   // tokens after which we leave
  std::string prompt_digest;             // of its text; equal digests are equal prompts
};

// Milliseconds that the server states itself.
struct ServerTimes {
  std::optional<double> queue_ms;
  std::optional<double> prefill_ms;
  std::optional<double> decode_ms;
};

struct RequestRecord {
  int64_t index = 0;  // in the order of sending
  std::string id;     // what the server calls it; may be empty
  Asked asked;

  std::optional<int64_t> scheduled_ns;  // when an open loop meant to send it
  int64_t started_ns = 0;               // given to the transport: connecting begins
  std::optional<int64_t> sent_ns;       // connected, the request goes out
  std::optional<int64_t> closed_ns;     // the body's end, the break, or our leaving
  bool is_connection_reused = false;
  int32_t fresh_retries = 0;  // new connections after an idle one was found closed before any byte

  int http_status = 0;  // 0: no status line came
  RequestState state = RequestState::kFailed;
  FailureKind failure = FailureKind::kNone;
  std::string error;                    // one line; empty for a success
  std::string finish_reason;            // empty: none came
  bool has_done = false;                // [DONE] was seen
  std::vector<std::string> notes;       // conformance faults that did no harm, one line each
  std::string content_encoding;         // of the answer; not empty: times may be a compressor's
  std::optional<double> retry_after_s;  // of a refusal

  TokenCounts prompt;
  TokenCounts output;                    // reasoning included
  std::optional<int64_t> cached_tokens;  // of the prompt; absent is not 0
  ServerTimes server;

  int64_t bytes = 0;  // of the body, as received
  int32_t reads = 0;  // in which it came
  std::vector<RawEvent> events;
  std::string text;         // content; kept where asked for
  std::string reasoning;    // the same of thinking
  std::string text_digest;  // of content, always: "xxh3-128:…"
};

// From which instant a time runs: when the request was sent, or when the load generator meant to.
enum class Origin { kSent, kScheduled };

// All in milliseconds; nothing where an end of the interval is missing.
std::optional<double> ttft_first_event_ms(const RequestRecord& record, Origin from = Origin::kSent);
// → first content event: the headline.
std::optional<double> ttft_ms(const RequestRecord& record, Origin from = Origin::kSent);
// → first event with text that is not reasoning.
std::optional<double> ttft_first_answer_ms(const RequestRecord& record,
                                           Origin from = Origin::kSent);
// → last content event.
std::optional<double> e2e_ms(const RequestRecord& record, Origin from = Origin::kSent);
// → stream closed; of a cancelled request, our leaving.
std::optional<double> e2e_close_ms(const RequestRecord& record, Origin from = Origin::kSent);
// (last content − first content) / (output tokens − 1), with best_count(). Nothing for one token.
std::optional<double> tpot_ms(const RequestRecord& record);
// 1000 / tpot_ms, and output tokens over e2e: two rates that are not one another.
std::optional<double> decode_rate(const RequestRecord& record);      // tokens per second
std::optional<double> end_to_end_rate(const RequestRecord& record);  // tokens per second
// Meant → given to the transport: the client's own delay.
std::optional<double> client_lag_ms(const RequestRecord& record);

struct ChunkGap {
  double ms = 0;
  bool is_same_read = false;  // both events came in one read: the gap is 0 and tells nothing
};
// Between consecutive content events: their sum is last − first, exactly.
std::vector<ChunkGap> chunk_gaps(const RequestRecord& record);

// How the tokens of each content event are known.
enum class TokenSplit {
  kUnknown,  // no count at all: nothing per token can be said
  kStated,   // the server told it for each event
  kSingle,   // as many events as tokens, or one token less (an end token has no text)
  kEven,     // the total is known, not who holds what: spread over the events by their text
};
std::string_view token_split_name(TokenSplit split);

struct TokenGaps {
  std::vector<double> ms;          // a gap of an event that holds n tokens is n gaps of gap/n
  int64_t chunks = 0;              // content events
  int64_t multi_token_chunks = 0;  // of these, with more than one token
  TokenSplit split = TokenSplit::kUnknown;
  // multi_token_chunks / chunks
  std::optional<double> multi_token_share() const;
};
// Per token, behind the first content event. Empty with kUnknown.
TokenGaps inter_token_gaps(const RequestRecord& record);

// A success without any text: counted, and in no percentile.
bool is_empty_answer(const RequestRecord& record);
// finish "length" and a tail of white space: the answer ran on for nothing. Needs `text`.
bool is_whitespace_tail(const RequestRecord& record);

}  // namespace pawl::lab
