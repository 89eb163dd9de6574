// SPDX-License-Identifier: Apache-2.0
// A regular file mapped read-only. Shared with every process that maps it; costs memory only for
// pages that were looked at. A file that is made shorter while it is mapped ends the process on the
// next read (SIGBUS): replace a file by renaming, never by writing into it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace pawl::base {

// Owns the mapping; moving keeps the addresses. Threads: immutable, any number of readers.
class MappedFile {
 public:
  // Errors: kNotFound; kIo with the system's reason; kInvalidArgument for what is no regular file.
  static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // The whole file; empty for an empty one. Begins at a page.
  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // True when all of `part` lies in this mapping; so do no bytes at all.
  bool contains(std::span<const std::byte> part) const;

  // Gives the memory of the whole pages inside `part` back; they are read again when looked at.
  // Pages that reach beyond `part` stay. REQUIRES: contains(part)
  void release(std::span<const std::byte> part) const;

  // Asks for `part` to be read ahead. REQUIRES: contains(part)
  void prefetch(std::span<const std::byte> part) const;

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace pawl::base
