// SPDX-License-Identifier: Apache-2.0
// Which servers that share a ledger are alive. Each holds one byte of a file locked, at the offset
// that is its number; the kernel drops the lock when the process ends, however it ends.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace pawl::server {

// Threads: none of its own; one object, one thread.
class LedgerOwner {
 public:
  // Makes the file, which stays empty. Error kIo.
  static base::Result<LedgerOwner> open(const std::filesystem::path& path);

  LedgerOwner(LedgerOwner&& other) noexcept;
  LedgerOwner& operator=(LedgerOwner&& other) noexcept;
  ~LedgerOwner();  // lets go

  // This object is the server of that number from here on. Error kIo when another is.
  base::Result<void> hold(int64_t server);

  // Whether another object, of this process or another, holds that number.
  base::Result<bool> is_alive(int64_t server) const;

 private:
  LedgerOwner(int descriptor, std::filesystem::path path)
      : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_;
  std::filesystem::path path_;
};

}  // namespace pawl::server
