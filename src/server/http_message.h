// SPDX-License-Identifier: Apache-2.0
// A request and a reply as plain values: what the handlers see. Only connection.cc knows the
// library that reads and writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::server {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;  // "POST"
  std::string path;    // as sent, without the query; never decoded
  std::string query;   // what follows '?'
  Headers headers;     // names in lower case
  std::string body;
  bool is_http_1_0 = false;
  bool is_keep_alive = true;
  int64_t received_ns = 0;  // when its header was complete
  std::string peer;         // address of the client
  std::string request_id;   // of the client where it gave a usable one, else made here

  // The value of the first header of that name, given in lower case; empty when there is none.
  std::string_view header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  Headers headers;  // beyond those that every reply has
  std::string body;
  bool closes = false;  // the connection ends after it
};

std::string_view reason_phrase(int status);

}  // namespace pawl::server
