// SPDX-License-Identifier: Apache-2.0
#include "cli/npy_file.h"

#include <fmt/format.h>

#include <bit>
#include <string>

namespace pawl::cli {

static_assert(std::endian::native == std::endian::little, "rows are written as they stand");

base::Result<NpyFile> NpyFile::create(const std::filesystem::path& path, int64_t rows,
                                      int64_t columns) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  constexpr size_t kBeforeHeader = 10;
  constexpr size_t kAlignment = 64;  // data begins at a multiple of it
  while ((kBeforeHeader + header.size() + 1) % kAlignment != 0) header += ' ';
  header += '\n';
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(header.size() & 0xFF);
  start += static_cast<char>(header.size() >> 8);
  start += header;
  PAWL_TRY(
      base::PendingFile file,
      base::PendingFile::create(path.string() + ".tmp", base::PendingFile::Unfinished::kRemove));
  PAWL_TRY_VOID(file.write(std::as_bytes(std::span(start))));
  return NpyFile(std::move(file), path);
}

base::Result<void> NpyFile::write_row(std::span<const float> row) {
  return file_.write(std::as_bytes(row));
}

}  // namespace pawl::cli
