// SPDX-License-Identifier: Apache-2.0
// What a web page may do: nothing, unless its origin was allowed. A browser sends requests to
// 127.0.0.1 for any page, so who asks and which host is asked for are both looked at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/http_message.h"

namespace pawl::server {

class Origins {
 public:
  // allowed: origins as browsers send them, or "*". is_loopback: the server listens on a loopback
  // address, so that a Host of any other name is a page's trick (DNS rebinding).
  Origins(std::vector<std::string> allowed, bool is_loopback)
      : allowed_(std::move(allowed)), is_loopback_(is_loopback) {}

  bool is_allowed(std::string_view origin) const;

  // Why the request is refused, or nothing: a Host that is not this machine's, or a request that
  // changes something for a foreign page.
  std::string refusal(const HttpRequest& request) const;

  // The headers that let the page of this request read the reply; none for others.
  void add_headers(const HttpRequest& request, Headers& headers) const;

  // The answer to a preflight.
  HttpReply preflight(const HttpRequest& request, std::string_view methods) const;

 private:
  std::vector<std::string> allowed_;
  bool is_loopback_;
};

// A name or address of this machine's loopback, with or without a port.
bool is_loopback_host(std::string_view host);

// An address to listen on that only this machine reaches: as above, IPv6 without brackets.
bool is_loopback_address(std::string_view address);

}  // namespace pawl::server
