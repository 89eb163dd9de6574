// SPDX-License-Identifier: Apache-2.0
// The page: the files of web/ and Chart.js, carried by the program. Whoever opens the server in a
// browser gets it without a key, as it holds nothing but itself; what it then asks for needs one.
#pragma once

#include <span>
#include <string_view>

#include "server/http_message.h"

namespace pawl::server {

struct WebFile {
  std::string_view name;  // as under /web/
  std::string_view content_type;
  std::string_view digest;  // of the content
  std::string_view content;
  std::string_view gzip;  // the content, compressed
};

std::span<const WebFile> web_files();

// `name`: what stands behind /web/, or empty for the page itself. Compressed where the request
// accepts gzip. 304 when its If-None-Match names the content, 404 when there is no such file.
HttpReply web_reply(const HttpRequest& request, std::string_view name);

}  // namespace pawl::server
