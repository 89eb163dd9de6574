// SPDX-License-Identifier: Apache-2.0
// An exclusive lock between processes, held through a lock file. The kernel drops it when its
// holder ends, however it ends; the empty lock file stays.
#pragma once

#include <filesystem>
#include <optional>

#include "base/result.h"

namespace pawl::base {

// Threads: none of its own; one object, one thread.
class FileLock {
 public:
  // The lock, or nothing while another holds it. Makes the file. Error kIo.
  static Result<std::optional<FileLock>> try_acquire(const std::filesystem::path& path);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace pawl::base
