// SPDX-License-Identifier: Apache-2.0
// HTTP requests over libcurl, whose only user http_client.cc is. One call is one request: what is
// refused or broken is an Error with its kind, and nothing is tried again behind the caller's back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::lab {

struct HttpGet {
  std::string url;         // http:// or https://
  int64_t first_byte = 0;  // above 0: asks for the rest of the resource from there (RFC 9110 §14.2)
  int max_redirects = 5;   // only to http and https
  int64_t connect_limit_ms = 20'000;
  int64_t idle_limit_ms = 30'000;  // without one byte received
};

// The head of the answer that is no redirect.
struct HttpHead {
  int status = 0;                         // 200, 206, 404, …
  std::optional<int64_t> content_length;  // of this answer's body
  std::optional<int64_t> range_first;     // first byte of a 206, from Content-Range
  std::optional<int64_t> range_total;     // size of the whole resource, from Content-Range
};

// What the caller does with an answer. Both are called on the thread of http_get; an Error ends the
// request and becomes its result.
struct HttpReceiver {
  std::function<base::Result<void>(const HttpHead&)> head;              // once, before any byte
  std::function<base::Result<void>(std::span<const std::byte>)> bytes;  // the body, any pieces
};

// Fetches; returns when all of the body has been given to the receiver. Errors, `where` the URL
// without user and password: kInvalidArgument for a URL that is none, kNetwork for whatever fails
// on the way (a body shorter than promised too), kCancelled when `stop` was asked for. A status is
// no error here: the receiver decides. Threads: any, each call with its own connection.
base::Result<HttpHead> http_get(const HttpGet& request, const HttpReceiver& receiver,
                                std::stop_token stop);

// `value` as in "bytes 5-99/100" or "bytes 5-99/*": first byte and total; nothing for what is no
// such range.
struct ContentRange {
  int64_t first = 0;
  std::optional<int64_t> total;
};
std::optional<ContentRange> parse_content_range(std::string_view value);

// The URL as it may be shown: without user and password.
std::string shown_url(const std::string& url);

}  // namespace pawl::lab
