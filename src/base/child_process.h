// SPDX-License-Identifier: Apache-2.0
// Another program, run as a child in a process group of its own and without a shell: arguments are
// an array, so nothing in them is interpreted. A destroyed ChildProcess has ended.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace pawl::base {

struct ChildCommand {
  std::vector<std::string> arguments;  // [0] is the program, looked up in PATH
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  std::filesystem::path folder;                                  // it starts there
  std::filesystem::path messages;  // gets its standard error, and its output unless read here
  bool is_output_read = false;     // standard output comes through read_output()
};

// Threads: none of its own; one object, one thread.
class ChildProcess {
 public:
  // Error kNotFound when there is no such program, kIo otherwise.
  static Result<ChildProcess> start(const ChildCommand& command);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();  // ends the child and all of its group that still run

  // Waits for output, at most `wait_ms`. Bytes put into `buffer`; 0 at the end of output; nothing
  // when the time passed without any. REQUIRES: is_output_read. Error kIo.
  Result<std::optional<size_t>> read_output(std::span<std::byte> buffer, int wait_ms);

  // Waits for the end, at most `wait_ms`. The exit status (128 + n when signal n ended it), or
  // nothing when it still runs.
  std::optional<int> wait(int wait_ms);

 private:
  ChildProcess(pid_t pid, int output) : pid_(pid), output_(output) {}

  pid_t pid_;
  int output_;  // read end of the pipe, or -1
  std::optional<int> status_;
};

}  // namespace pawl::base
