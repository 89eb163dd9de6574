// SPDX-License-Identifier: Apache-2.0
#include "cli/line_input.h"

#include <poll.h>
#include <unistd.h>

#include <iostream>

namespace pawl::cli {

// A terminal gives one line to each read, so that no second one waits where poll does not see it.
LineEnd read_line(const std::stop_token& stop, std::string& line) {
  constexpr int kTickMs = 50;
  pollfd ready{STDIN_FILENO, POLLIN, 0};
  while (::poll(&ready, 1, kTickMs) <= 0) {
    if (stop.stop_requested()) return LineEnd::kStopped;
  }
  line.clear();
  return std::getline(std::cin, line) ? LineEnd::kLine : LineEnd::kEndOfInput;
}

}  // namespace pawl::cli
