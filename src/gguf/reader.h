// SPDX-License-Identifier: Apache-2.0
// Opens GGUF files: header, metadata, tensor table, all checked before anything is handed out. The
// file stays mapped read-only; tensors are views of it.
//
//   "GGUF" | version u32 | tensors u64 | pairs u64 | metadata | tensor table | padding | data
//   tensor table: { name (u64 length, bytes) | n_dims u32 | dims u64[n_dims] | type u32 | offset
//   u64 } padding: zeros up to a multiple of `general.alignment` (32 without that key), counted
//   from the start of the file; data begins there, and every offset counts from there and is a
//   multiple of it too.
//
// Little endian, versions 2 and 3. Versions 1 and big endian are refused by name.
// Source: the GGUF specification of the ggml project.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "gguf/metadata.h"
#include "gguf/types.h"

namespace pawl::gguf {

// One tensor of the table. Views live as long as the File.
struct TensorView {
  std::string_view name;
  TensorType type = TensorType::kF32;
  int n_dims = 0;  // 1..4
  std::array<int64_t, 4> dims{1, 1, 1,
                              1};  // dims[0] is contiguous: [columns, rows, …]; unused ones are 1
  std::span<const std::byte> data;  // exactly the tensor's bytes; aligned to 8 at least
};

// An open file, or all parts of a split one, joined.
// Threads: immutable; any number of readers. release() and prefetch() are advice and change no
// byte.
class File {
 public:
  const Metadata& metadata() const { return metadata_; }  // of the first part
  uint32_t version() const { return version_; }
  int64_t bytes() const { return bytes_; }  // size of all parts

  // In the order of the table; parts follow each other.
  std::span<const TensorView> tensors() const { return tensors_; }

  // O(log tensors); nullptr when there is none of that name.
  const TensorView* find_tensor(std::string_view name) const;

  // Gives the memory of whole pages inside `part` (a piece of some tensor's data) back; the bytes
  // are read from the file again when somebody looks at them. Does nothing for a file opened from
  // bytes.
  void release(std::span<const std::byte> part) const;

  // The same for everything that the file's mappings hold.
  void release_all() const;

  // Asks the system to read `part` ahead.
  void prefetch(std::span<const std::byte> part) const;

 private:
  friend class FileBuilder;

  std::vector<base::MappedFile> mappings_;
  Metadata metadata_;
  std::vector<TensorView> tensors_;
  std::vector<uint32_t> by_name_;  // indices of tensors_, sorted by name
  uint32_t version_ = 0;
  int64_t bytes_ = 0;
};

// Opens a file. Given any part of a split file (`NAME-00001-of-00003.gguf`), opens all of them; a
// part that is missing is named. Errors: kNotFound, kIo, kBadFile for broken bytes, kUnsupported
// for a version, byte order or tensor type that nothing here reads. `where` is the path.
base::Result<std::shared_ptr<const File>> open(const std::string& path);

// The same for bytes in memory, which outlive the File. A part of a split file is refused.
// REQUIRES: `bytes` begins at a multiple of 8 (else TensorView::data is not aligned either).
base::Result<std::shared_ptr<const File>> open_bytes(std::span<const std::byte> bytes);

}  // namespace pawl::gguf
