// SPDX-License-Identifier: Apache-2.0
// Server-sent events from bytes that come in any pieces (HTML standard, section 9.2: "Interpreting
// an event stream"). Each event carries the stamp of the read that ended its last line: a blank
// line that comes later does not make it later.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::lab {

// When bytes came: the same for all bytes of one read.
struct ReadStamp {
  int64_t ns = 0;
  int32_t read = 0;  // number of the read within the answer
};

struct SseEvent {
  std::string type;         // "message" unless an "event:" line says otherwise
  std::string data;         // data lines joined by '\n'; of a comment, its text
  bool is_comment = false;  // a line that begins with ':'
  int64_t bytes = 0;        // received for it: all since the event before
  ReadStamp stamp;
};

class SseParser {
 public:
  using Sink = std::function<void(SseEvent)>;
  // An event beyond `limit` bytes is refused.
  explicit SseParser(int64_t limit = int64_t{16} * 1024 * 1024) : limit_(limit) {}

  // Takes the bytes of one read, or a part of them; gives each event that they complete. Error
  // kBadFile for an event beyond the limit: the parser is of no use afterwards.
  base::Result<void> feed(std::string_view bytes, ReadStamp stamp, const Sink& sink);

  // After the last byte: what stands there without the blank line that would end it, or nothing.
  // The standard drops it; whether it is an answer's end is the caller's to judge.
  std::optional<SseEvent> finish();

 private:
  void end_line(ReadStamp stamp, const Sink& sink);
  void read_field(ReadStamp stamp);
  void dispatch(const Sink& sink);

  int64_t limit_;
  std::string line_;  // received of the line that is not over
  std::string data_;
  std::string type_;
  bool has_data_ = false;
  ReadStamp data_stamp_;          // of the last data line
  int64_t bytes_ = 0;             // since the last event
  bool is_first_line_ = true;     // where a byte order mark may stand
  bool skips_line_feed_ = false;  // the last byte was CR: a LF belongs to it
  ReadStamp last_;
};

}  // namespace pawl::lab
