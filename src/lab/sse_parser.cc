// SPDX-License-Identifier: Apache-2.0
#include "lab/sse_parser.h"

#include <fmt/format.h>

namespace pawl::lab {

base::Result<void> SseParser::feed(std::string_view bytes, ReadStamp stamp, const Sink& sink) {
  last_ = stamp;
  while (!bytes.empty()) {
    if (skips_line_feed_ && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      ++bytes_;
    }
    skips_line_feed_ = false;
    const size_t end = bytes.find_first_of("\r\n");
    const std::string_view piece = bytes.substr(0, end);
    bytes_ += static_cast<int64_t>(piece.size());
    if (bytes_ > limit_) {
      return base::Error{base::ErrorCode::kBadFile,
                         fmt::format("an event of more than {} bytes", limit_), ""};
    }
    line_ += piece;
    if (end == std::string_view::npos) break;
    skips_line_feed_ = bytes[end] == '\r';
    ++bytes_;
    bytes.remove_prefix(end + 1);
    end_line(stamp, sink);
  }
  return {};
}

void SseParser::end_line(ReadStamp stamp, const Sink& sink) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (is_first_line_ && line_.starts_with(kByteOrderMark)) line_.erase(0, kByteOrderMark.size());
  is_first_line_ = false;
  if (line_.empty()) {
    dispatch(sink);
  } else if (line_.front() == ':') {
    sink({"", line_.substr(1), true, has_data_ ? 0 : bytes_, stamp});
    if (!has_data_) bytes_ = 0;
  } else {
    read_field(stamp);
  }
  line_.clear();
}

void SseParser::read_field(ReadStamp stamp) {
  const std::string_view line = line_;
  const size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "data") {
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
    data_stamp_ = stamp;
  } else if (name == "event") {
    type_ = value;
  }
  // "id" and "retry" are for reconnecting, which we never do; unknown fields are ignored.
}

void SseParser::dispatch(const Sink& sink) {
  // A blank line without data makes no event (step "dispatch the event", 2).
  if (has_data_) {
    sink({type_.empty() ? "message" : std::move(type_), std::move(data_), false, bytes_,
          data_stamp_});
  }
  bytes_ = 0;
  data_.clear();
  type_.clear();
  has_data_ = false;
}

std::optional<SseEvent> SseParser::finish() {
  std::optional<SseEvent> rest;
  const Sink keep = [&](SseEvent event) { rest = std::move(event); };
  if (!line_.empty()) end_line(last_, keep);
  if (has_data_) {
    rest.reset();
    dispatch(keep);
  }
  return rest;
}

}  // namespace pawl::lab
