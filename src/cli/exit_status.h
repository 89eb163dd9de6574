// SPDX-License-Identifier: Apache-2.0
// What the program's exit status means, and how an error is told: one line on stderr, nothing on
// stdout.
#pragma once

#include "base/result.h"

namespace pawl::cli {

enum class ExitStatus : int {
  kDone = 0,           // done, and every verdict held
  kVerdictFailed = 1,  // the thing that was checked does not hold
  kWrongInput = 2,     // wrong usage or bad input
  kSurroundings = 3,   // file, memory or connection failed
  kInterrupted = 130,  // Ctrl-C or a request to end
};

// The one table from error codes to exit statuses.
ExitStatus exit_status_of(base::ErrorCode code);

// Prints `pawl: error: <message> (<where>)` on stderr, as one line whatever bytes the message
// holds, and gives the exit status.
ExitStatus report_error(const base::Error& error);

// The same line without printing it, and without a line end.
std::string error_line(const base::Error& error);

}  // namespace pawl::cli
