// SPDX-License-Identifier: Apache-2.0
// Records go to disk as they end, so that a run that breaks off loses nothing, and can be gone on
// with.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/pending_file.h"
#include "base/result.h"
#include "lab/records_file.h"

namespace pawl::lab {

// Threads: one.
class Recorder {
 public:
  // Begins the file, or goes on with one that is there. `header`: an object; its member
  // "experiment" says what is measured and must equal that of the file. A last line that was cut
  // off is dropped. Errors kIo, kBadFile, kInvalidArgument for another experiment; `where` the
  // path.
  static base::Result<Recorder> open(const std::string& path, const base::Json& header);

  // What the file held already.
  const RecordsFile& found() const { return found_; }

  // Appends one line. Error kIo.
  base::Result<void> add(const RequestRecord& record);

 private:
  explicit Recorder(base::PendingFile file) : file_(std::move(file)) {}
  base::Result<void> put(const std::string& line);

  base::PendingFile file_;
  RecordsFile found_;
};

// A whole file of records. Errors kNotFound, kIo, kBadFile; `where` the path and the line.
base::Result<RecordsFile> read_records_file(const std::string& path);

}  // namespace pawl::lab
