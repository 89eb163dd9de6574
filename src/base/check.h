// SPDX-License-Identifier: Apache-2.0
// PAWL_CHECK: our own mistakes, never reachable from foreign bytes. Prints the condition and
// aborts.
#pragma once

namespace pawl::base {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace pawl::base

#define PAWL_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::pawl::base::check_failed(#condition, __FILE__, __LINE__))
