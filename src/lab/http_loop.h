// SPDX-License-Identifier: Apache-2.0
// Many HTTP requests at once on one thread, for measuring: bytes are stamped when they are received
// and given to their reader only after every socket that was ready has been read, so that reading
// one answer delays no other's stamps. Nothing is tried again, queued or limited behind the
// caller's back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "lab/record.h"
#include "lab/sse_parser.h"

namespace pawl::lab {

// Milliseconds; 0: no limit. Silence is told apart by where it falls.
struct HttpLimits {
  int64_t connect_ms = 10'000;
  int64_t first_byte_ms = 600'000;  // sent → first byte of the answer's head
  int64_t idle_ms = 120'000;        // between two reads of the answer
  int64_t total_ms = 0;             // started → end
};

struct HttpRequest {
  std::string method = "POST";
  std::string url;
  std::string body;                  // sent with POST
  std::vector<std::string> headers;  // "Name: value"
  HttpLimits limits;
  std::string ca_file;  // certificates to trust, PEM, in place of the system's; empty: the system's
};

// The answer's head. Redirects are not followed: they are a status like others.
struct AnswerHead {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // as they came
  // The first of that name, without regard to case; empty where there is none.
  std::string_view find(std::string_view name) const;
};

struct ExchangeEnd {
  FailureKind failure = FailureKind::kNone;  // kNone: the body ended as HTTP says
  std::string reason;                        // one line
  bool is_ours = false;                      // cancel() was called
  int64_t closed_ns = 0;
  std::optional<int64_t> sent_ns;  // connected, the request goes out
  bool is_connection_reused = false;
  int32_t fresh_retries = 0;  // an idle connection was found closed, and a new one was made
};

// Called by HttpLoop::run(), never within start(). `end` is the last call, and exactly one.
struct HttpReader {
  std::function<void(const AnswerHead&)> head;  // once, before any byte
  std::function<void(std::string_view, ReadStamp)> bytes;
  std::function<void(const ExchangeEnd&)> end;
};

// Threads: none of its own; one at a time.
class HttpLoop {
 public:
  using Id = int64_t;

  // clock: outlives it. Errors kUnsupported without libcurl, kOutOfMemory.
  static base::Result<HttpLoop> create(const base::Clock& clock);
  HttpLoop(HttpLoop&&) noexcept;
  HttpLoop& operator=(HttpLoop&&) = delete;
  ~HttpLoop();  // closes every connection; readers hear nothing

  // Hands the request to the transport.
  Id start(HttpRequest request, HttpReader reader);

  // Leaves: the connection is closed at once, and run() gives the reader its end. No effect on what
  // is over. May be called from within a reader.
  void cancel(Id id);

  // Works until something was given to a reader or the clock reaches `until_ns`, whichever is
  // first; at most once round when `until_ns` is past.
  void run(int64_t until_ns);

  int64_t in_flight() const;

 private:
  class State;
  explicit HttpLoop(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// One request alone: the whole body, at most `limit` bytes. Errors kNetwork, `where` the URL;
// a status is none.
struct WholeAnswer {
  AnswerHead head;
  std::string body;
};
base::Result<WholeAnswer> fetch_whole(const HttpRequest& request, const base::Clock& clock,
                                      size_t limit = size_t{16} * 1024 * 1024);

}  // namespace pawl::lab
