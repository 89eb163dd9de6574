// SPDX-License-Identifier: Apache-2.0
#include "base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace pawl::base {
namespace {

// The child's attributes, freed on every path.
class SpawnSetup {
 public:
  SpawnSetup() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  // A group of its own, so that the terminal's Ctrl-C reaches us alone and we end all of it; no
  // signal blocked or ignored, whatever ours are.
  void isolate() {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

std::vector<std::string> merged_environment(const ChildCommand& command) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const std::string name = text.substr(0, text.find('='));
    bool is_replaced = false;
    for (const auto& [key, value] : command.environment) is_replaced |= key == name;
    if (!is_replaced) merged.push_back(text);
  }
  for (const auto& [key, value] : command.environment) merged.push_back(key + "=" + value);
  return merged;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

Error io_error(const char* what, int number) {
  return Error{ErrorCode::kIo, std::string(what) + ": " + std::strerror(number), ""};
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const ChildCommand& command) {
  int ends[2] = {-1, -1};
  if (command.is_output_read && ::pipe2(ends, O_CLOEXEC) != 0) {
    return io_error("cannot make a pipe", errno);
  }
  SpawnSetup setup;
  setup.isolate();
  posix_spawn_file_actions_addchdir_np(&setup.actions, command.folder.c_str());
  posix_spawn_file_actions_addopen(&setup.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&setup.actions, 2, command.messages.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&setup.actions, command.is_output_read ? ends[1] : 2, 1);

  auto arguments = command.arguments;
  auto environment = merged_environment(command);
  pid_t pid = -1;
  const int failure = posix_spawnp(&pid, arguments[0].c_str(), &setup.actions, &setup.attributes,
                                   pointers_to(arguments).data(), pointers_to(environment).data());
  if (ends[1] >= 0) ::close(ends[1]);
  if (failure == 0) return ChildProcess(pid, ends[0]);
  if (ends[0] >= 0) ::close(ends[0]);
  if (failure == ENOENT) {
    return Error{ErrorCode::kNotFound, "no program '" + arguments[0] + "' in PATH", ""};
  }
  return io_error(("cannot start '" + arguments[0] + "'").c_str(), failure);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::exchange(other.output_, -1)),
      status_(other.status_) {}

ChildProcess::~ChildProcess() {
  if (output_ >= 0) ::close(output_);
  if (pid_ < 0) return;
  if (!status_) {
    ::kill(-pid_, SIGTERM);
    constexpr int kGraceMs = 2000;
    if (!wait(kGraceMs)) ::kill(-pid_, SIGKILL);
  }
  while (!status_) wait(1000);
}

Result<std::optional<size_t>> ChildProcess::read_output(std::span<std::byte> buffer, int wait_ms) {
  pollfd ready{output_, POLLIN, 0};
  if (::poll(&ready, 1, wait_ms) <= 0) return std::optional<size_t>();
  const ssize_t count = ::read(output_, buffer.data(), buffer.size());
  if (count >= 0) return std::optional(static_cast<size_t>(count));
  if (errno == EINTR) return std::optional<size_t>();
  return io_error("cannot read from the child", errno);
}

std::optional<int> ChildProcess::wait(int wait_ms) {
  if (status_) return status_;
  // A pidfd becomes readable when the process ends: a wait with a limit and without polling.
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (handle >= 0) {
    pollfd ended{handle, POLLIN, 0};
    ::poll(&ended, 1, wait_ms);
    ::close(handle);
  }
  int raw = 0;
  if (::waitpid(pid_, &raw, WNOHANG) == pid_) {
    status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  }
  return status_;
}

}  // namespace pawl::base
