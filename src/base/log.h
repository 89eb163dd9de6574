// SPDX-License-Identifier: Apache-2.0
// Notes for the person at the terminal, one line each on stderr. Never in the step path.
// Threads: any. log.cc is the only user of the logging library.
#pragma once

#include <string_view>

namespace pawl::base {

enum class LogLevel { kDebug, kInfo, kWarning, kSilent };

// Lines below the level are dropped. At the start: kWarning.
void set_log_level(LogLevel level);

void log_debug(std::string_view message);
void log_info(std::string_view message);
void log_warning(std::string_view message);

}  // namespace pawl::base
