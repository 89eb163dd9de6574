// SPDX-License-Identifier: Apache-2.0
// Where a model's bytes arrive, whatever their source: counted, hashed and written under a
// temporary name; only a file of the right size and hash gets the model's name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/digest.h"
#include "base/pending_file.h"
#include "base/result.h"

namespace pawl::cli {

// What is to be fetched.
struct FetchTarget {
  std::string name;
  std::filesystem::path path;    // the file it becomes
  std::optional<int64_t> bytes;  // nothing: not known before
  std::string sha256;
};

// Told how many bytes are here, and how many it will be (nothing: unknown).
using ProgressFunction = std::function<void(int64_t done, std::optional<int64_t> total)>;

// Threads: one.
class ModelSink {
 public:
  // Opens `temporary`, continuing what it holds if `unfinished` says to keep it. Error kIo.
  static base::Result<ModelSink> open(const FetchTarget& target,
                                      const std::filesystem::path& temporary,
                                      base::PendingFile::Unfinished unfinished);

  // Appends. Error kBadFile for more bytes than the model has, kIo.
  base::Result<void> write(std::span<const std::byte> bytes);
  // Forgets all that was written. Error kIo.
  base::Result<void> restart();
  int64_t size() const { return file_.size(); }

  // Checks size and hash, then gives the file its name. A file that fails is removed: error
  // kBadFile.
  base::Result<void> finish();

 private:
  ModelSink(const FetchTarget& target, base::PendingFile file)
      : target_(target), file_(std::move(file)) {}

  FetchTarget target_;
  base::PendingFile file_;
  base::Sha256 digest_;
};

// The SHA-256 of a file, told how far it is. Errors kNotFound, kIo.
base::Result<std::string> sha256_of_file(const std::filesystem::path& path);

}  // namespace pawl::cli
