// SPDX-License-Identifier: Apache-2.0
// Raw records on disk: lines of JSON, so that every number can be computed again.
//
// The first line is a header {"pawl_records": 1, "event_columns": […], …}; each line behind it is
// one record, whose events are rows of these columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lab/record.h"

namespace pawl::lab {

inline constexpr int64_t kRecordsSchema = 1;

base::Json record_json(const RequestRecord& record);
// Error kBadFile names the member.
base::Result<RequestRecord> parse_record(const base::Json& value);

// Both end with a line end. `header`: an object, to which schema and columns are added.
std::string records_header_line(const base::Json& header);
std::string record_line(const RequestRecord& record);

struct RecordsFile {
  base::Json header;  // conditions, and whatever the experiment adds
  std::vector<RequestRecord> records;
  bool is_cut = false;  // the last line was not whole, and is left out
};
// Error kBadFile, `where` the line: foreign bytes end in one.
base::Result<RecordsFile> parse_records(std::string_view text);

}  // namespace pawl::lab
