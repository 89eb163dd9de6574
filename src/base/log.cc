// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace pawl::base {
namespace {

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("pawl", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_pattern("pawl: %l: %v");
    made.set_level(spdlog::level::warn);
    made.flush_on(spdlog::level::trace);
    return made;
  }();
  return instance;
}

spdlog::level::level_enum to_library(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kSilent:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

}  // namespace

void set_log_level(LogLevel level) {
  logger().set_level(to_library(level));
}

// The message is an argument, never a format: it may hold braces that came from a file.
void log_debug(std::string_view message) {
  logger().debug("{}", message);
}
void log_info(std::string_view message) {
  logger().info("{}", message);
}
void log_warning(std::string_view message) {
  logger().warn("{}", message);
}

}  // namespace pawl::base
