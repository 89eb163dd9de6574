// SPDX-License-Identifier: Apache-2.0
// A file that appears under its name only when it is whole: written under a temporary name in the
// same folder, flushed to the disk, then renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/result.h"

namespace pawl::base {

// Threads: none of its own; one object, one thread.
class PendingFile {
 public:
  // What the destructor does with the temporary file when commit() was not reached.
  enum class Unfinished { kRemove, kKeep };

  // Opens `temporary` for writing, empty. Error kIo.
  static Result<PendingFile> create(const std::filesystem::path& temporary, Unfinished unfinished);
  // Opens `temporary` for writing at its end, if it is there; else as create(). Error kIo.
  static Result<PendingFile> resume(const std::filesystem::path& temporary, Unfinished unfinished);

  PendingFile(PendingFile&& other) noexcept;
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile();

  // Appends. Error kIo.
  Result<void> write(std::span<const std::byte> bytes);
  // Empties the file, to start again. Error kIo.
  Result<void> restart();
  // Bytes in the file.
  int64_t size() const { return size_; }
  // Removes the file on destruction, whatever was said at the start.
  void discard() { unfinished_ = Unfinished::kRemove; }

  // Flushes to the disk and renames to `path` (same file system), replacing what is there. Error
  // kIo.
  Result<void> commit(const std::filesystem::path& path);

 private:
  PendingFile(int descriptor, std::filesystem::path temporary, Unfinished unfinished, int64_t size)
      : descriptor_(descriptor),
        temporary_(std::move(temporary)),
        unfinished_(unfinished),
        size_(size) {}
  Error failure(const char* what) const;

  int descriptor_;
  std::filesystem::path temporary_;
  Unfinished unfinished_;
  int64_t size_;
};

}  // namespace pawl::base
