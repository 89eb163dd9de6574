// SPDX-License-Identifier: Apache-2.0
// Result files as one self-contained HTML page: tables, plots, conditions, verdicts. The plotting
// library is part of the page; nothing is fetched when it is opened.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "lab/record.h"

namespace pawl::lab {

struct ReportInput {
  std::string name;                    // of the file, shown
  base::Json document;                 // a result; `kind` says which, others are shown as they are
  std::vector<RequestRecord> records;  // raw ones where they are at hand, for gaps and timeline
};

// Texts of the documents are shown as text: nothing in them is markup or script.
std::string report_page(std::span<const ReportInput> inputs);

}  // namespace pawl::lab
