// SPDX-License-Identifier: Apache-2.0
// The head of a reply, and the frames of a chunked body (RFC 9112 §4, §7.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/http_message.h"

namespace pawl::server {

struct HeadParts {
  int status = 200;
  std::string_view content_type;     // empty: none
  std::optional<size_t> body_bytes;  // nothing: no Content-Length
  bool is_chunked = false;
  bool closes = false;
};

// Status line, headers, blank line. Line ends in values become spaces.
std::string http_head(const HeadParts& parts, const Headers& headers);

// REQUIRES: !data.empty(), as an empty chunk is the last one
void append_http_chunk(std::string_view data, std::string& out);
inline constexpr std::string_view kLastHttpChunk = "0\r\n\r\n";

}  // namespace pawl::server
