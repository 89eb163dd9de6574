// SPDX-License-Identifier: Apache-2.0
// NumPy's file format, version 1.0, for one matrix of float32, written row by row; the file appears
// when all rows are there. Source: NumPy's format description, numpy.lib.format.
//
//   "\x93NUMPY" | 1 | 0 | header length u16 | header: a Python dict as text, padded with spaces,
//   ends in \n | rows × columns float32, little endian, C order
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "base/pending_file.h"
#include "base/result.h"

namespace pawl::cli {

class NpyFile {
 public:
  // Error kIo.
  static base::Result<NpyFile> create(const std::filesystem::path& path, int64_t rows,
                                      int64_t columns);

  // [columns]. Error kIo.
  base::Result<void> write_row(std::span<const float> row);
  // REQUIRES: all rows were written. Error kIo.
  base::Result<void> finish() { return file_.commit(path_); }

 private:
  NpyFile(base::PendingFile file, std::filesystem::path path)
      : file_(std::move(file)), path_(std::move(path)) {}

  base::PendingFile file_;
  std::filesystem::path path_;
};

}  // namespace pawl::cli
