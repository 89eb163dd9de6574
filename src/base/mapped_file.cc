// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace pawl::base {
namespace {

Error system_error(const std::string& path, const char* what) {
  const int reason = errno;
  const ErrorCode code =
      reason == ENOENT || reason == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo;
  return Error{code, std::string(what) + ": " + std::strerror(reason), path};
}

struct FileDescriptor {
  int fd;
  ~FileDescriptor() {
    if (fd >= 0) ::close(fd);
  }
};

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  // Without O_NONBLOCK a named pipe would wait here for a writer.
  const FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) return system_error(path, "cannot open the file");
  struct stat status;
  if (::fstat(file.fd, &status) != 0) return system_error(path, "cannot look at the file");
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorCode::kInvalidArgument, "not a regular file", path};
  }
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return MappedFile(nullptr, 0);
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd, 0);
  if (data == MAP_FAILED) return system_error(path, "cannot map the file");
  return MappedFile(static_cast<const std::byte*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

bool MappedFile::contains(std::span<const std::byte> part) const {
  if (part.empty()) return true;
  const auto begin = reinterpret_cast<uintptr_t>(data_);
  const auto at = reinterpret_cast<uintptr_t>(part.data());
  return at >= begin && at - begin <= size_ && part.size() <= size_ - (at - begin);
}

void MappedFile::release(std::span<const std::byte> part) const {
  PAWL_CHECK(contains(part));
  if (part.empty()) return;
  const size_t page = page_bytes();
  const auto at = static_cast<size_t>(part.data() - data_);  // data_ begins at a page
  const size_t begin = (at + page - 1) / page * page;
  const size_t end = (at + part.size()) / page * page;
  if (begin < end) {
    ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
  }
}

void MappedFile::prefetch(std::span<const std::byte> part) const {
  PAWL_CHECK(contains(part));
  if (part.empty()) return;
  const auto at = static_cast<size_t>(part.data() - data_);
  const size_t begin = at / page_bytes() * page_bytes();
  ::madvise(const_cast<std::byte*>(data_) + begin, at + part.size() - begin, MADV_WILLNEED);
}

}  // namespace pawl::base
