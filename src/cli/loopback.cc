// SPDX-License-Identifier: Apache-2.0
#include "cli/loopback.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr std::string_view kReady = " is ready at ";

Result<std::filesystem::path> temporary_folder() {
  std::error_code failure;
  const auto parent = std::filesystem::temp_directory_path(failure);
  std::string name = (failure ? std::filesystem::path("/tmp") : parent) / "pawl-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    return Error{ErrorCode::kIo, fmt::format("cannot make a folder: {}", std::strerror(errno)),
                 name};
  }
  return std::filesystem::path(name);
}

std::string last_line_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line, last;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  return last.empty() ? "it said nothing" : last;
}

// The URL of "NAME is ready at URL - try: …"; empty while that line is not whole.
std::string url_in(const std::string& output) {
  const size_t start = output.find(kReady);
  const size_t end = output.find('\n', start == std::string::npos ? 0 : start);
  if (start == std::string::npos || end == std::string::npos) return "";
  const size_t url = start + kReady.size();
  return output.substr(url, std::min(output.find(' ', url), end) - url);
}

}  // namespace

Result<Loopback> Loopback::start(const LoopbackOptions& options,
                                 const std::function<bool()>& should_stop) {
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) return Error{ErrorCode::kIo, failure.message(), "/proc/self/exe"};
  PAWL_TRY(const auto folder, temporary_folder());
  base::ChildCommand command;
  command.arguments = {program, "serve",       "--host", "127.0.0.1",  "--port",
                       "0",     "--no-ledger", "-m",     options.model};
  if (options.threads) {
    command.arguments.insert(command.arguments.end(), {"-t", std::to_string(*options.threads)});
  }
  command.arguments.insert(command.arguments.end(), options.more.begin(), options.more.end());
  command.folder = std::filesystem::current_path(failure);
  command.messages = folder / "messages";
  command.is_output_read = true;
  PAWL_TRY(base::ChildProcess child, base::ChildProcess::start(command));
  Loopback loopback(std::move(child), folder);
  std::string output;
  std::array<std::byte, 4096> buffer;
  while (loopback.url_.empty()) {
    if (should_stop()) return Error{ErrorCode::kCancelled, "stopped", "pawl serve"};
    constexpr int kWaitMs = 50;
    PAWL_TRY(const auto size, loopback.child_.read_output(buffer, kWaitMs));
    if (!size) continue;
    if (*size == 0) {
      return Error{ErrorCode::kNetwork,
                   "the server of --self ended: " + last_line_of(command.messages), "pawl serve"};
    }
    output.append(reinterpret_cast<const char*>(buffer.data()), *size);
    loopback.url_ = url_in(output);
  }
  return loopback;
}

Loopback::~Loopback() {
  if (folder_.empty()) return;  // moved from
  std::error_code ignored;      // what cannot be removed is the system's to clean
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace pawl::cli
