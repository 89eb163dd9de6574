// SPDX-License-Identifier: Apache-2.0
// The body of one answer becomes a record: bytes in, raw events, text, counts and the verdict of
// how it ended out. No network here: whoever has the bytes and their stamps can use it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lab/chunk.h"
#include "lab/record.h"
#include "lab/sse_parser.h"

namespace pawl::lab {

// How the bytes came to their end.
struct BodyEnd {
  FailureKind failure = FailureKind::kNone;  // kNone: as HTTP says a body ends
  std::string reason;                        // one line, with a failure
  bool is_ours = false;                      // we left on purpose
};

class AnswerReader {
 public:
  // record: outlives the reader, which fills it from status to digest. keeps_text: `text` and
  // `reasoning` stay in the record after the end.
  AnswerReader(RequestRecord& record, bool keeps_text) : record_(record), keeps_text_(keeps_text) {}

  // Bytes of the body, in order. Those of one read have one stamp.
  void feed(std::string_view bytes, ReadStamp stamp);

  // Once, after the last byte: decides the state. The record's http_status is set by then.
  void end(const BodyEnd& end);

  // Tokens seen so far: as the server states them per event, else content events, a lower bound.
  int64_t landed_tokens() const { return landed_; }
  // An event that came since says that the request failed, or that it is over.
  bool has_failed() const { return !failure_.empty(); }
  const std::string& model() const { return model_; }  // as the answer names it

 private:
  enum class Form { kUnknown, kStream, kWhole };

  bool find_form(std::string_view bytes, ReadStamp stamp);
  void keep(std::string_view bytes);
  void take_event(const SseEvent& event);
  void take_chunk(const Chunk& chunk, RawEvent& raw);
  void take_counts(const Chunk& chunk, RawEvent& raw);
  void take_whole();
  void fail(FailureKind kind, std::string message);
  void judge(const BodyEnd& end);
  void end_stream();

  RequestRecord& record_;
  bool keeps_text_;
  Form form_ = Form::kUnknown;
  SseParser sse_;
  std::string whole_;  // of a body that is no stream, or not known to be one
  ReadStamp last_;
  int64_t landed_ = 0;
  int64_t stated_ = 0;  // completion tokens of the last usage within the stream
  int64_t data_events_ = 0;
  FailureKind kind_ = FailureKind::kNone;
  std::string failure_;
  std::string model_;
};

}  // namespace pawl::lab
