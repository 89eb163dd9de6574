// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace pawl::base {

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kBadFile:
      return "bad_file";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kOutOfMemory:
      return "out_of_memory";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kNetwork:
      return "network";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kOverloaded:
      return "overloaded";
    case ErrorCode::kUnavailable:
      return "unavailable";
  }
  return "unknown";
}

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "pawl: a check of its own failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace pawl::base
