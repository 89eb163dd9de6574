// SPDX-License-Identifier: Apache-2.0
#include "base/pending_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace pawl::base {
namespace {

// A rename survives a power cut only once its folder is on the disk as well.
void flush_folder_of(const std::filesystem::path& path) {
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

Result<PendingFile> PendingFile::create(const std::filesystem::path& temporary,
                                        Unfinished unfinished) {
  PAWL_TRY(PendingFile file, resume(temporary, unfinished));
  PAWL_TRY_VOID(file.restart());
  return file;
}

Result<PendingFile> PendingFile::resume(const std::filesystem::path& temporary,
                                        Unfinished unfinished) {
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return Error{ErrorCode::kIo, std::string("cannot write: ") + std::strerror(errno),
                 temporary.string()};
  }
  const off_t size = ::lseek(descriptor, 0, SEEK_END);
  return PendingFile(descriptor, temporary, unfinished, size < 0 ? 0 : int64_t{size});
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      temporary_(std::move(other.temporary_)),
      unfinished_(other.unfinished_),
      size_(other.size_) {}

PendingFile::~PendingFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (unfinished_ == Unfinished::kRemove || size_ == 0) ::unlink(temporary_.c_str());
}

Result<void> PendingFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failure("cannot write");
    bytes = bytes.subspan(static_cast<size_t>(written));
    size_ += written;
  }
  return {};
}

Result<void> PendingFile::restart() {
  if (::ftruncate(descriptor_, 0) != 0) return failure("cannot empty");
  size_ = 0;
  return {};
}

Result<void> PendingFile::commit(const std::filesystem::path& path) {
  if (::fsync(descriptor_) != 0) return failure("cannot flush");
  if (::rename(temporary_.c_str(), path.c_str()) != 0) return failure("cannot rename");
  ::close(std::exchange(descriptor_, -1));
  flush_folder_of(path);
  return {};
}

Error PendingFile::failure(const char* what) const {
  return Error{ErrorCode::kIo, std::string(what) + ": " + std::strerror(errno),
               temporary_.string()};
}

}  // namespace pawl::base
