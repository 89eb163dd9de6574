// SPDX-License-Identifier: Apache-2.0
// The version, from CMakeLists.txt.
#pragma once

namespace pawl::cli {

inline constexpr const char* kVersion = PAWL_VERSION;

}  // namespace pawl::cli
