// SPDX-License-Identifier: Apache-2.0
#include "gguf/reader.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>

#include "gguf/cursor.h"
#include "gguf/tensor_table.h"

namespace pawl::gguf {

using base::Error;
using base::ErrorCode;
using base::MappedFile;
using base::Result;

namespace {

constexpr size_t kHeaderBytes = 4 + 4 + 8 + 8;
constexpr uint32_t kDefaultAlignment = 32;
constexpr uint32_t kMinAlignment =
    8;  // of the specification; also lets float tensors be read in place
constexpr uint32_t kMaxParts = 99999;  // five digits in a name

Error bad(std::string message) {
  return Error{ErrorCode::kBadFile, std::move(message), ""};
}
Error unsupported(std::string message) {
  return Error{ErrorCode::kUnsupported, std::move(message), ""};
}

Error with_path(Error error, const std::string& path) {
  if (error.where.empty()) error.where = path;
  return error;
}

struct Header {
  uint32_t version = 0;
  uint64_t tensors = 0;
  uint64_t pairs = 0;
};

// One file's worth, a whole model or a part of a split one.
struct Part {
  Header header;
  Metadata metadata;
  std::vector<TensorView> tensors;
};

// What a file says about itself as a part. count 0: not split.
struct Split {
  uint32_t number = 0;  // from 0
  uint32_t count = 0;
  uint32_t tensors = 0;  // of all parts
};

Result<Header> read_header(Cursor& cursor) {
  const size_t size = cursor.remaining();
  std::span<const std::byte> magic;
  if (cursor.take(4, &magic) && as_text(magic) != "GGUF") {
    return bad("not a GGUF file: it begins with " + quoted(as_text(magic)));
  }
  Header header;
  if (!cursor.read(&header.version) || !cursor.read(&header.tensors) ||
      !cursor.read(&header.pairs)) {
    return bad("not a GGUF file: " + std::to_string(size) + " bytes, the header alone takes " +
               std::to_string(kHeaderBytes));
  }
  // A big-endian file's small version number stands in the other half of the word.
  if (header.version != 0 && (header.version & 0xFFFF) == 0) {
    return unsupported("a big-endian GGUF file; only little-endian ones are read");
  }
  if (header.version != 2 && header.version != 3) {
    return unsupported("GGUF version " + std::to_string(header.version) +
                       ", only 2 and 3 are read");
  }
  return header;
}

Result<uint32_t> alignment_of(const Metadata& metadata) {
  PAWL_TRY(const uint32_t alignment, metadata.get_u32_or("general.alignment", kDefaultAlignment));
  if (!std::has_single_bit(alignment) || alignment < kMinAlignment) {
    return bad("key 'general.alignment': " + std::to_string(alignment) +
               ", must be a power of two of at least " + std::to_string(kMinAlignment));
  }
  return alignment;
}

Result<Part> read_part(std::span<const std::byte> bytes) {
  Cursor cursor(bytes);
  Part part;
  PAWL_TRY(part.header, read_header(cursor));
  PAWL_TRY(part.metadata, Metadata::parse(cursor, part.header.pairs));
  PAWL_TRY(const uint32_t alignment, alignment_of(part.metadata));
  PAWL_TRY(part.tensors, read_tensor_table(cursor, part.header.tensors, alignment, bytes));
  return part;
}

Result<Split> split_of(const Metadata& metadata) {
  Split split;
  PAWL_TRY(split.count, metadata.get_u32_or("split.count", 0));
  if (split.count <= 1) return Split{};
  if (split.count > kMaxParts) {
    return bad("key 'split.count': " + std::to_string(split.count) + ", limit " +
               std::to_string(kMaxParts));
  }
  PAWL_TRY(split.number, metadata.get_u32("split.no"));
  PAWL_TRY(split.tensors, metadata.get_u32("split.tensors.count"));
  if (split.number >= split.count) {
    return bad("key 'split.no': " + std::to_string(split.number) + " of " +
               std::to_string(split.count) + " parts");
  }
  return split;
}

// "-00002-of-00003.gguf" for number 1 of 3.
std::string part_suffix(uint32_t number, uint32_t count) {
  char suffix[40];
  std::snprintf(suffix, sizeof(suffix), "-%05u-of-%05u.gguf", number + 1, count);
  return suffix;
}

std::string part_name(uint32_t number, uint32_t count) {
  return "part " + std::to_string(number + 1) + " of " + std::to_string(count);
}

}  // namespace

// Fills a File from parts, in their order.
class FileBuilder {
 public:
  FileBuilder() : file_(new File) {}

  // `part` was read from `bytes`, which outlive the File.
  void add(Part part, std::span<const std::byte> bytes) {
    if (file_->version_ == 0) {
      file_->version_ = part.header.version;
      file_->metadata_ = std::move(part.metadata);
    }
    file_->bytes_ += static_cast<int64_t>(bytes.size());
    file_->tensors_.insert(file_->tensors_.end(), part.tensors.begin(), part.tensors.end());
  }

  void keep(MappedFile mapping) { file_->mappings_.push_back(std::move(mapping)); }

  size_t tensors() const { return file_->tensors_.size(); }

  Result<std::shared_ptr<const File>> finish() {
    PAWL_TRY(file_->by_name_, index_by_name(file_->tensors_));
    return std::shared_ptr<const File>(std::move(file_));
  }

 private:
  std::unique_ptr<File> file_;
};

namespace {

// Part `number` of the split that the opened part describes.
Result<Part> read_other_part(const MappedFile& mapping, uint32_t number, const Split& wanted) {
  PAWL_TRY(Part part, read_part(mapping.bytes()));
  PAWL_TRY(const Split split, split_of(part.metadata));
  if (split.number != number || split.count != wanted.count || split.tensors != wanted.tensors) {
    return bad("does not describe itself as " + part_name(number, wanted.count) + " with " +
               std::to_string(wanted.tensors) + " tensors in all");
  }
  return part;
}

// Opens parts `first` up to `end` and adds them.
Result<void> add_other_parts(FileBuilder& builder, const std::string& stem, const Split& split,
                             uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; ++i) {
    const std::string path = stem + part_suffix(i, split.count);
    auto mapping = MappedFile::open(path);
    if (!mapping.ok() && mapping.error().code == ErrorCode::kNotFound) {
      return Error{ErrorCode::kNotFound, part_name(i, split.count) + " is missing", path};
    }
    if (!mapping.ok()) return std::move(mapping).error();
    auto part = read_other_part(*mapping, i, split);
    if (!part.ok()) return with_path(std::move(part).error(), path);
    builder.add(std::move(part).value(), mapping->bytes());
    builder.keep(std::move(mapping).value());
  }
  return {};
}

Result<std::shared_ptr<const File>> open_split(const std::string& path, MappedFile opened,
                                               Part opened_part, const Split& split) {
  const std::string suffix = part_suffix(split.number, split.count);
  if (!path.ends_with(suffix)) {
    return Error{ErrorCode::kBadFile,
                 "is " + part_name(split.number, split.count) + ", so its name must end in " +
                     suffix + " for the others to be found",
                 path};
  }
  const std::string stem = path.substr(0, path.size() - suffix.size());
  FileBuilder builder;
  PAWL_TRY_VOID(add_other_parts(builder, stem, split, 0, split.number));
  builder.add(std::move(opened_part), opened.bytes());
  builder.keep(std::move(opened));
  PAWL_TRY_VOID(add_other_parts(builder, stem, split, split.number + 1, split.count));
  if (builder.tensors() != split.tensors) {
    return Error{ErrorCode::kBadFile,
                 "the parts hold " + std::to_string(builder.tensors()) +
                     " tensors, key 'split.tensors.count' says " + std::to_string(split.tensors),
                 path};
  }
  auto file = builder.finish();
  if (!file.ok()) return with_path(std::move(file).error(), path);
  return file;
}

}  // namespace

Result<std::shared_ptr<const File>> open(const std::string& path) {
  PAWL_TRY(MappedFile mapping, MappedFile::open(path));
  auto part = read_part(mapping.bytes());
  if (!part.ok()) return with_path(std::move(part).error(), path);
  auto split = split_of(part->metadata);
  if (!split.ok()) return with_path(std::move(split).error(), path);
  if (split->count > 1) {
    return open_split(path, std::move(mapping), std::move(part).value(), *split);
  }
  FileBuilder builder;
  builder.add(std::move(part).value(), mapping.bytes());
  builder.keep(std::move(mapping));
  auto file = builder.finish();
  if (!file.ok()) return with_path(std::move(file).error(), path);
  return file;
}

Result<std::shared_ptr<const File>> open_bytes(std::span<const std::byte> bytes) {
  PAWL_TRY(Part part, read_part(bytes));
  PAWL_TRY(const Split split, split_of(part.metadata));
  if (split.count > 1) {
    return unsupported(part_name(split.number, split.count) +
                       " of a split file, without the others");
  }
  FileBuilder builder;
  builder.add(std::move(part), bytes);
  return builder.finish();
}

const TensorView* File::find_tensor(std::string_view name) const {
  const auto name_at = [&](uint32_t i) { return tensors_[i].name; };
  const auto at = std::ranges::lower_bound(by_name_, name, {}, name_at);
  if (at == by_name_.end() || name_at(*at) != name) return nullptr;
  return &tensors_[*at];
}

void File::release(std::span<const std::byte> part) const {
  for (const MappedFile& mapping : mappings_) {
    if (mapping.contains(part)) return mapping.release(part);
  }
}

void File::release_all() const {
  for (const MappedFile& mapping : mappings_) mapping.release(mapping.bytes());
}

void File::prefetch(std::span<const std::byte> part) const {
  for (const MappedFile& mapping : mappings_) {
    if (mapping.contains(part)) return mapping.prefetch(part);
  }
}

}  // namespace pawl::gguf
