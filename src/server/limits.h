// SPDX-License-Identifier: Apache-2.0
// Every limit of the HTTP side in one place. Beyond one of them a request ends in an error that
// names the limit; nothing is cut off in silence.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pawl::server {

struct Limits {
  // Connections
  int connections = 1024;                       // open at once; more are answered 503 and closed
  int64_t header_ms = 10'000;                   // from the first byte to the end of the header
  int64_t body_ms = 60'000;                     // for the rest of the request
  int64_t idle_ms = 75'000;                     // between two requests of a connection
  int64_t write_ms = 30'000;                    // without one byte taken by the peer
  size_t header_bytes = 16 * 1024;              // request line and headers together
  size_t body_bytes = size_t{8} * 1024 * 1024;  // refused by Content-Length before it is read
  size_t early_bytes = 64 * 1024;  // of a next request, kept while a reply is under way
  size_t unsent_bytes = size_t{4} * 1024 * 1024;  // of a stream; beyond, the reader is too slow

  // Requests
  int json_depth = 64;
  int prompts = 128;      // of one completion request
  int choices = 128;      // n times prompts
  int messages = 10'000;  // of a chat
  int stop_strings = 16;
  size_t stop_string_bytes = 1024;
  int logit_biases = 1024;
  int tools = 128;
  size_t id_bytes = 128;  // of x-request-id, cache_salt, user

  // Streams
  int64_t ping_ms = 2'000;  // silence after which a comment shows that the server lives
};

}  // namespace pawl::server
