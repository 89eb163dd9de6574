// SPDX-License-Identifier: Apache-2.0
#include "server/ledger_owner.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace pawl::server {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

struct flock byte_of(int64_t server) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = server;
  lock.l_len = 1;
  return lock;
}

Error io_error(const char* what, const std::filesystem::path& path) {
  return {ErrorCode::kIo, std::string(what) + ": " + std::strerror(errno), path.string()};
}

}  // namespace

Result<LedgerOwner> LedgerOwner::open(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return io_error("cannot open", path);
  return LedgerOwner(descriptor, path);
}

LedgerOwner::LedgerOwner(LedgerOwner&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

LedgerOwner& LedgerOwner::operator=(LedgerOwner&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

LedgerOwner::~LedgerOwner() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// Locks of the open file, not of the process: two ledgers in one process are two owners.
Result<void> LedgerOwner::hold(int64_t server) {
  struct flock lock = byte_of(server);
  if (::fcntl(descriptor_, F_OFD_SETLK, &lock) != 0) return io_error("cannot lock", path_);
  return {};
}

Result<bool> LedgerOwner::is_alive(int64_t server) const {
  struct flock lock = byte_of(server);
  if (::fcntl(descriptor_, F_OFD_GETLK, &lock) != 0) return io_error("cannot ask for locks", path_);
  return lock.l_type != F_UNLCK;
}

}  // namespace pawl::server
