// SPDX-License-Identifier: Apache-2.0
#include "server/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/utf8.h"

namespace pawl::server {
namespace {

constexpr double kFloor = -9999;

void append_escaped(std::string_view text, std::string& out) {
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
}

}  // namespace

void append_quoted(std::string_view text, std::string& out) {
  out += '"';
  if (base::is_valid_utf8(text)) {
    append_escaped(text, out);
  } else {
    std::string valid;
    base::append_valid_utf8(text, valid);
    append_escaped(valid, out);
  }
  out += '"';
}

void append_logprob(double value, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}",
                 std::isnan(value) ? kFloor : std::max(value, kFloor));
}

void append_bytes(std::string_view bytes, std::string& out) {
  out += '[';
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0) out += ',';
    append_integer(static_cast<unsigned char>(bytes[i]), out);
  }
  out += ']';
}

void append_integer(long long value, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}", value);
}

}  // namespace pawl::server
