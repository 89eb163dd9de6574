// SPDX-License-Identifier: Apache-2.0
// JSON written straight into a buffer: for the few shapes that are written once per token.
#pragma once

#include <string>
#include <string_view>

namespace pawl::server {

// The text in quotes, escaped (RFC 8259 §7); bytes that are no UTF-8 become U+FFFD.
void append_quoted(std::string_view text, std::string& out);

// A log-probability. Minus infinity and what is no number are written as -9999: JSON has neither.
void append_logprob(double value, std::string& out);

// [1,2,3]: the bytes of a token.
void append_bytes(std::string_view bytes, std::string& out);

// The digits of an integer.
void append_integer(long long value, std::string& out);

}  // namespace pawl::server
