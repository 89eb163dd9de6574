// SPDX-License-Identifier: Apache-2.0
#include "lab/answer_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "base/digest.h"
#include "base/utf8.h"

namespace pawl::lab {
namespace {

constexpr size_t kWholeLimit = size_t{64} * 1024 * 1024;

int32_t to_int32(size_t value) {
  return static_cast<int32_t>(
      std::min(value, static_cast<size_t>(std::numeric_limits<int32_t>::max())));
}

void note_once(std::vector<std::string>& notes, std::string note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
}

}  // namespace

void AnswerReader::feed(std::string_view bytes, ReadStamp stamp) {
  record_.bytes += static_cast<int64_t>(bytes.size());
  record_.reads = stamp.read + 1;
  last_ = stamp;
  if (form_ == Form::kUnknown && !find_form(bytes, stamp)) return;
  if (form_ == Form::kWhole) return keep(bytes);
  const auto fed = sse_.feed(bytes, stamp, [this](const SseEvent& event) { take_event(event); });
  if (!fed.ok()) fail(FailureKind::kBadEvent, fed.error().message);
}

// No line of an event stream begins with a brace: that is an answer, or an error, in one piece.
// White space before says nothing, and is kept until it is known whose it is.
bool AnswerReader::find_form(std::string_view bytes, ReadStamp stamp) {
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    keep(bytes);
    return false;
  }
  const bool is_whole = bytes[first] == '{' || record_.http_status != 200;
  form_ = is_whole ? Form::kWhole : Form::kStream;
  if (is_whole) return true;
  const auto fed = sse_.feed(whole_, stamp, [this](const SseEvent& event) { take_event(event); });
  if (!fed.ok()) fail(FailureKind::kBadEvent, fed.error().message);
  whole_.clear();
  return true;
}

void AnswerReader::keep(std::string_view bytes) {
  if (whole_.size() + bytes.size() <= kWholeLimit) {
    whole_ += bytes;
  } else {
    fail(FailureKind::kBadEvent, fmt::format("an answer of more than {} bytes", kWholeLimit));
  }
}

void AnswerReader::take_event(const SseEvent& event) {
  RawEvent raw;
  raw.stamp_ns = event.stamp.ns;
  raw.read = event.stamp.read;
  raw.shared_read = !record_.events.empty() && record_.events.back().read == raw.read;
  raw.bytes = to_int32(static_cast<size_t>(event.bytes));
  if (event.is_comment) {
    raw.kind = EventKind::kComment;
  } else if (event.data == "[DONE]") {
    raw.kind = EventKind::kDone;
    record_.has_done = true;
  } else {
    ++data_events_;
    auto chunk = read_chunk(event.data);
    if (chunk.ok()) {
      if (event.type == "error" && chunk->error.empty()) {
        chunk->error = "an error event";
        chunk->kind = EventKind::kError;
      }
      take_chunk(*chunk, raw);
    } else {
      raw.kind = EventKind::kError;
      fail(FailureKind::kBadEvent, fmt::format("event {} is no JSON object: {}", data_events_,
                                               base::quoted_text(event.data)));
    }
  }
  record_.events.push_back(raw);
}

void AnswerReader::take_chunk(const Chunk& chunk, RawEvent& raw) {
  raw.kind = chunk.kind;
  if (chunk.kind == EventKind::kError) fail(FailureKind::kErrorObject, chunk.error);
  raw.answer_bytes = to_int32(chunk.content.size() + chunk.tool_text.size());
  raw.text_bytes = to_int32(chunk.content.size() + chunk.tool_text.size() + chunk.reasoning.size());
  record_.text += chunk.content;
  record_.reasoning += chunk.reasoning;
  if (!chunk.finish_reason.empty()) record_.finish_reason = chunk.finish_reason;
  if (record_.id.empty()) record_.id = chunk.id;
  if (model_.empty()) model_ = chunk.model;
  take_counts(chunk, raw);
}

void AnswerReader::take_counts(const Chunk& chunk, RawEvent& raw) {
  raw.tokens = chunk.tokens;
  raw.forced = chunk.forced;
  const auto take = [](std::optional<int64_t> from, std::optional<int64_t>& to) {
    if (from) to = from;
  };
  if (chunk.completion_tokens && form_ == Form::kStream) {
    // A usage that grows with the stream says what each chunk holds.
    const int64_t step = *chunk.completion_tokens - stated_;
    stated_ = *chunk.completion_tokens;
    if (!raw.tokens && raw.text_bytes > 0 && step >= 0 && step <= raw.bytes) {
      raw.tokens = static_cast<int32_t>(step);
    }
  }
  take(chunk.prompt_tokens, record_.prompt.usage);
  take(chunk.completion_tokens, record_.output.usage);
  take(chunk.timed_prompt_tokens, record_.prompt.timings);
  take(chunk.timed_completion_tokens, record_.output.timings);
  take(chunk.timed_cached_tokens, record_.cached_tokens);
  take(chunk.cached_tokens, record_.cached_tokens);
  if (chunk.queue_ms) record_.server.queue_ms = chunk.queue_ms;
  if (chunk.prefill_ms) record_.server.prefill_ms = chunk.prefill_ms;
  if (chunk.decode_ms) record_.server.decode_ms = chunk.decode_ms;
  if (raw.tokens) {
    landed_ += *raw.tokens;
  } else if (raw.text_bytes > 0) {
    ++landed_;
  }
}

void AnswerReader::take_whole() {
  RawEvent raw;
  raw.stamp_ns = last_.ns;
  raw.read = last_.read;
  raw.bytes = to_int32(whole_.size());
  if (record_.http_status != 200) {
    const auto body = base::parse_json(whole_);
    const auto message = body.ok() ? error_message(*body) : std::nullopt;
    fail(FailureKind::kStatus, message.value_or(base::quoted_text(whole_)));
    return;
  }
  const auto chunk = read_chunk(whole_);
  if (chunk.ok()) {
    take_chunk(*chunk, raw);
    if (record_.asked.is_stream && chunk->kind != EventKind::kError) {
      note_once(record_.notes, "a stream was asked for, and the answer came whole");
    }
  } else {
    raw.kind = EventKind::kError;
    fail(FailureKind::kBadEvent,
         fmt::format("the answer is no JSON object: {}", base::quoted_text(whole_)));
  }
  record_.events.push_back(raw);
}

void AnswerReader::fail(FailureKind kind, std::string message) {
  if (!failure_.empty()) return;  // the first says why
  kind_ = kind;
  failure_ = std::move(message);
}

// What stands behind the last blank line: an end that lacks it is an end; half a chunk is none.
void AnswerReader::end_stream() {
  const auto rest = sse_.finish();
  if (!rest) return;
  if (rest->data != "[DONE]" && !rest->is_comment && !read_chunk(rest->data).ok()) return;
  take_event(*rest);
  note_once(record_.notes, "no blank line at the end of the stream");
}

void AnswerReader::end(const BodyEnd& end) {
  if (form_ == Form::kStream) end_stream();
  // Of half an answer in one piece nothing can be read, but a refusal is one by its status.
  const bool is_refused = record_.http_status != 200;
  if (form_ == Form::kWhole && !end.is_ours && (is_refused || end.failure == FailureKind::kNone)) {
    take_whole();
  }
  if (record_.http_status != 200 && form_ == Form::kUnknown && failure_.empty() &&
      end.failure == FailureKind::kNone) {
    fail(FailureKind::kStatus, "no body");
  }
  const std::span<const char> text(record_.text);
  record_.text_digest = base::xxh3_128(std::as_bytes(text));
  judge(end);
  if (!keeps_text_) {
    record_.text.clear();
    record_.reasoning.clear();
  }
}

void AnswerReader::judge(const BodyEnd& end) {
  record_.failure = kind_;
  record_.error = failure_;
  if (!failure_.empty()) {
    record_.state = RequestState::kFailed;
    if (kind_ == FailureKind::kStatus) {
      record_.error = fmt::format("HTTP status {}: {}", record_.http_status, failure_);
    }
    return;
  }
  if (end.is_ours) {
    record_.state = RequestState::kCancelled;
    return;
  }
  // [DONE] is the end, whatever the connection does behind it.
  const bool is_whole = end.failure == FailureKind::kNone || record_.has_done;
  if (!is_whole) {
    const bool is_cut = end.failure == FailureKind::kBroken && record_.http_status == 200;
    record_.state = is_cut ? RequestState::kTruncated : RequestState::kFailed;
    record_.failure = end.failure;
    record_.error = end.reason;
    return;
  }
  if (record_.finish_reason.empty()) {
    record_.state = RequestState::kTruncated;
    record_.failure = FailureKind::kNoFinish;
    record_.error = "the stream ended without a finish reason";
    return;
  }
  record_.state = RequestState::kSuccess;
  if (form_ == Form::kStream && !record_.has_done) {
    note_once(record_.notes, "no [DONE] at the end of the stream");
  }
}

}  // namespace pawl::lab
