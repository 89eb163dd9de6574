// SPDX-License-Identifier: Apache-2.0
#include "lab/recorder.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/mapped_file.h"

namespace pawl::lab {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::PendingFile;
using base::Result;

namespace {

std::string experiment_of(const Json& header) {
  const Json* experiment = header.find("experiment");
  return experiment != nullptr ? experiment->dump() : "null";
}

bool is_there(const std::string& path) {
  std::error_code failure;
  const auto size = std::filesystem::file_size(path, failure);
  return !failure && size > 0;
}

}  // namespace

Result<Recorder> Recorder::open(const std::string& path, const Json& header) {
  RecordsFile found;
  if (is_there(path)) {
    PAWL_TRY(found, read_records_file(path));
    if (experiment_of(found.header) != experiment_of(header)) {
      return Error{ErrorCode::kInvalidArgument, "holds records of another experiment", path};
    }
  }
  PAWL_TRY(PendingFile file, PendingFile::resume(path, PendingFile::Unfinished::kKeep));
  Recorder recorder(std::move(file));
  recorder.found_ = std::move(found);
  const bool is_new = recorder.found_.header.is_null();
  // Without the line that was cut off, by writing the others again.
  if (is_new || recorder.found_.is_cut) {
    PAWL_TRY_VOID(recorder.file_.restart());
    const Json& kept = is_new ? header : recorder.found_.header;
    PAWL_TRY_VOID(recorder.put(records_header_line(kept)));
    for (const auto& record : recorder.found_.records) PAWL_TRY_VOID(recorder.add(record));
  }
  return recorder;
}

Result<void> Recorder::add(const RequestRecord& record) {
  return put(record_line(record));
}

Result<void> Recorder::put(const std::string& line) {
  return file_.write(std::as_bytes(std::span(line)));
}

Result<RecordsFile> read_records_file(const std::string& path) {
  PAWL_TRY(const base::MappedFile file, base::MappedFile::open(path));
  const auto bytes = file.bytes();
  auto parsed = parse_records({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!parsed.ok()) {
    Error error = std::move(parsed).error();
    error.where = fmt::format("{}, {}", path, error.where);
    return error;
  }
  return parsed;
}

}  // namespace pawl::lab
