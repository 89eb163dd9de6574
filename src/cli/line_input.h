// SPDX-License-Identifier: Apache-2.0
// Lines that a person types, one at a time, without waiting longer than a stop token allows.
#pragma once

#include <stop_token>
#include <string>

namespace pawl::cli {

enum class LineEnd { kLine, kEndOfInput, kStopped };

// The next line of standard input, without its newline.
LineEnd read_line(const std::stop_token& stop, std::string& line);

}  // namespace pawl::cli
