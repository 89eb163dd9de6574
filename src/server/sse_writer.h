// SPDX-License-Identifier: Apache-2.0
// Server-sent events, as the HTML standard frames them (section 9.2.6): a data line and a blank
// line. JSON has no line ends, so one data line is enough.
#pragma once

#include <string>
#include <string_view>

namespace pawl::server {

inline constexpr std::string_view kEventBegin = "data: ";
inline constexpr std::string_view kEventEnd = "\n\n";
inline constexpr std::string_view kDoneEvent = "data: [DONE]\n\n";
// A comment: readers skip it, and what stands between sees that the connection lives.
inline constexpr std::string_view kPing = ": ping\n\n";

inline void append_event(std::string_view json, std::string& out) {
  out += kEventBegin;
  out += json;
  out += kEventEnd;
}

}  // namespace pawl::server
