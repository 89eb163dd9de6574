// SPDX-License-Identifier: Apache-2.0
// A trace as a result for a page of pawl report: its passes without the ids of the prompt.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "probe/trace_verify.h"

namespace pawl::cli {

// verdicts: of trace verify; none where it was not asked.
base::Json trace_document(const probe::Trace& trace, const std::vector<probe::Verdict>& verdicts);

// "holds", "fails", "not checked".
std::string_view outcome_name(probe::Verdict::Outcome outcome);

// [{name, outcome, checked, step, reason}], as trace verify prints them.
base::Json verdicts_json(const std::vector<probe::Verdict>& verdicts);

}  // namespace pawl::cli
