// SPDX-License-Identifier: Apache-2.0
// The library's texts and its ways to fail, as ours.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "bridge/bridge.h"

namespace pawl::bridge {

// Takes the library's text over.
std::string take(pawl_text text);

// REQUIRES: status is not PAWL_BRIDGE_OK. kUnsupported is a mistake of the library, all else is the
// caller's input.
base::Error error_of(int32_t status, std::string message, std::string_view where);

}  // namespace pawl::bridge
