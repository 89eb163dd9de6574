// SPDX-License-Identifier: Apache-2.0
// Answers for a ScriptedEndpoint: event streams with known times, and what can be wrong with them.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/scripted_endpoint.h"

namespace pawl::tests {

// One byte string with line ends of another kind.
inline std::string with_line_ends(std::string_view text, std::string_view line_end) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += line_end;
    } else {
      out += c;
    }
  }
  return out;
}

inline std::string event(std::string_view data) {
  return fmt::format("data: {}\n\n", data);
}
// `delta`: members of the delta object, without braces.
inline std::string delta_event(std::string_view delta, std::string_view finish = "null") {
  return event(fmt::format(
      R"({{"id":"r1","model":"m","choices":[{{"index":0,"delta":{{{}}},"finish_reason":{}}}]}})",
      delta, finish));
}
inline std::string text_event(std::string_view text) {
  return delta_event(fmt::format(R"("content":"{}")", text));
}
inline std::string role_event() {
  return delta_event(R"("role":"assistant","content":"")");
}
inline std::string finish_event(std::string_view reason = "stop") {
  return delta_event("", fmt::format("\"{}\"", reason));
}
inline std::string usage_event(int prompt, int completion, int cached = -1) {
  const std::string details =
      cached < 0 ? "" : fmt::format(R"(,"prompt_tokens_details":{{"cached_tokens":{}}})", cached);
  return event(fmt::format(
      R"({{"id":"r1","choices":[],"usage":{{"prompt_tokens":{},"completion_tokens":{}{}}}}})",
      prompt, completion, details));
}
inline const std::string kDone = event("[DONE]");

inline std::string whole_answer(int status, std::string_view body, std::string_view headers = "") {
  return fmt::format(
      "HTTP/1.1 {} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}\r\n{}",
      status, body.size(), headers, body);
}

// Steps of one answer, each at its time in ms after the request. The body's end is told by chunks,
// or by closing.
class StreamScript {
 public:
  enum class Framing { kChunked, kClose };
  explicit StreamScript(Framing framing = Framing::kChunked, std::string_view headers = "")
      : framing_(framing) {
    steps_.push_back({0,
                      fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{}{}\r\n",
                                  framing == Framing::kChunked ? "Transfer-Encoding: chunked\r\n"
                                                               : "Connection: close\r\n",
                                  headers),
                      After::kNothing});
  }

  // One write of these bytes of the body.
  StreamScript& send(double at_ms, std::string_view bytes) {
    steps_.push_back({at_ms, framed(bytes), After::kNothing});
    return *this;
  }
  // `count` text events of one write each.
  StreamScript& texts(double first_ms, double gap_ms, int count, std::string_view text = "word ") {
    for (int i = 0; i < count; ++i) send(first_ms + gap_ms * i, text_event(text));
    return *this;
  }
  // Finish reason, usage and [DONE] in one write, then the end of the body.
  std::vector<Step> finish(double at_ms, int prompt, int completion,
                           std::string_view reason = "stop") {
    send(at_ms, finish_event(reason) + usage_event(prompt, completion) + kDone);
    return end(at_ms);
  }
  std::vector<Step> end(double at_ms) {
    const bool is_chunked = framing_ == Framing::kChunked;
    steps_.push_back(
        {at_ms, is_chunked ? "0\r\n\r\n" : "", is_chunked ? After::kNothing : After::kClose});
    return steps_;
  }
  // The connection goes, whatever was promised.
  std::vector<Step> cut(double at_ms, After after) {
    steps_.push_back({at_ms, "", after});
    return steps_;
  }

 private:
  std::string framed(std::string_view bytes) const {
    if (framing_ == Framing::kClose) return std::string(bytes);
    return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
  }

  Framing framing_;
  std::vector<Step> steps_;
};

}  // namespace pawl::tests
