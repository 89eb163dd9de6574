// SPDX-License-Identifier: Apache-2.0
#include "cli/model_sink.h"

#include <fmt/format.h>

#include "base/mapped_file.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::PendingFile;
using base::Result;

namespace {

// Adds a whole file to the digest, giving pages back as it goes: hashing must not push out other
// memory.
Result<void> add_file(const std::filesystem::path& path, base::Sha256& digest) {
  constexpr size_t kPiece = size_t{8} << 20;
  PAWL_TRY(const base::MappedFile file, base::MappedFile::open(path.string()));
  auto rest = file.bytes();
  while (!rest.empty()) {
    const auto piece = rest.first(std::min(kPiece, rest.size()));
    digest.update(piece);
    file.release(piece);
    rest = rest.subspan(piece.size());
  }
  return {};
}

}  // namespace

Result<ModelSink> ModelSink::open(const FetchTarget& target, const std::filesystem::path& temporary,
                                  PendingFile::Unfinished unfinished) {
  if (unfinished == PendingFile::Unfinished::kRemove) {
    PAWL_TRY(PendingFile file, PendingFile::create(temporary, unfinished));
    return ModelSink(target, std::move(file));
  }
  PAWL_TRY(PendingFile file, PendingFile::resume(temporary, unfinished));
  ModelSink sink(target, std::move(file));
  if (sink.size() > 0) PAWL_TRY_VOID(add_file(temporary, sink.digest_));
  return sink;
}

Result<void> ModelSink::write(std::span<const std::byte> bytes) {
  if (target_.bytes && size() + static_cast<int64_t>(bytes.size()) > *target_.bytes) {
    file_.discard();
    return Error{ErrorCode::kBadFile,
                 fmt::format("more than the {} bytes that '{}' has", *target_.bytes, target_.name),
                 ""};
  }
  PAWL_TRY_VOID(file_.write(bytes));
  digest_.update(bytes);
  return {};
}

Result<void> ModelSink::restart() {
  digest_ = base::Sha256();
  return file_.restart();
}

Result<void> ModelSink::finish() {
  if (target_.bytes && size() != *target_.bytes) {
    file_.discard();  // the source says that this is all: it has another file
    return Error{
        ErrorCode::kBadFile,
        fmt::format("only {} of the {} bytes of '{}' came", size(), *target_.bytes, target_.name),
        ""};
  }
  const std::string found = digest_.finish_hex();
  if (found != target_.sha256) {
    file_.discard();
    return Error{ErrorCode::kBadFile,
                 fmt::format("'{}': SHA-256 of what came is {}, expected {}; nothing was kept",
                             target_.name, found, target_.sha256),
                 ""};
  }
  return file_.commit(target_.path);
}

Result<std::string> sha256_of_file(const std::filesystem::path& path) {
  base::Sha256 digest;
  PAWL_TRY_VOID(add_file(path, digest));
  return digest.finish_hex();
}

}  // namespace pawl::cli
