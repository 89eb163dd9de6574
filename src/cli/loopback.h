// SPDX-License-Identifier: Apache-2.0
// A server of our own for as long as it is measured: `pawl serve` as a child process on 127.0.0.1,
// asked over HTTP like any other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/result.h"

namespace pawl::cli {

struct LoopbackOptions {
  std::string model;  // a .gguf file or a catalogue name
  std::optional<int64_t> threads;
  std::vector<std::string> more;  // words added to the command
};

// Threads: none of its own; one object, one thread. The server ends with it.
class Loopback {
 public:
  // Returns when the model is loaded. should_stop: asked while it is. Errors kNetwork with the
  // server's last words when it ended before, kCancelled, and those of starting a process.
  static base::Result<Loopback> start(const LoopbackOptions& options,
                                      const std::function<bool()>& should_stop);

  Loopback(Loopback&&) = default;
  Loopback& operator=(Loopback&&) = delete;
  ~Loopback();

  const std::string& url() const { return url_; }

 private:
  Loopback(base::ChildProcess child, std::filesystem::path folder)
      : child_(std::move(child)), folder_(std::move(folder)) {}

  base::ChildProcess child_;
  std::filesystem::path folder_;  // holds its messages; removed at the end
  std::string url_;
};

}  // namespace pawl::cli
