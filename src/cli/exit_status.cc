// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_status.h"

#include <cstdio>

namespace pawl::cli {

ExitStatus exit_status_of(base::ErrorCode code) {
  using base::ErrorCode;
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kBadFile:
    case ErrorCode::kUnsupported:
      return ExitStatus::kWrongInput;
    case ErrorCode::kNotFound:
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kIo:
    case ErrorCode::kNetwork:
    case ErrorCode::kOverloaded:
    case ErrorCode::kUnavailable:
      return ExitStatus::kSurroundings;
    case ErrorCode::kCancelled:
      return ExitStatus::kInterrupted;
  }
  return ExitStatus::kSurroundings;
}

std::string error_line(const base::Error& error) {
  std::string line = "pawl: error: " + error.message;
  if (!error.where.empty()) line += " (" + error.where + ")";
  // Names out of a file may hold line ends or terminal commands.
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return line;
}

ExitStatus report_error(const base::Error& error) {
  std::fprintf(stderr, "%s\n", error_line(error).c_str());
  return exit_status_of(error.code);
}

}  // namespace pawl::cli
