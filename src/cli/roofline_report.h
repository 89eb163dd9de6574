// SPDX-License-Identifier: Apache-2.0
// What pawl phases --hardware prints: the roofline of machines that are not here, and what the
// exchange rate on them hangs on.
#pragma once

#include <vector>

#include "base/json.h"
#include "probe/roofline.h"

namespace pawl::cli {

// What is told elsewhere of one request on a data-centre machine: prompt tokens for an output
// token.
inline constexpr double kClaimedExchangeLow = 100, kClaimedExchangeHigh = 140;

struct RooflineReport {
  std::vector<probe::Hardware> machines;  // at least one
  std::vector<int64_t> prompts;           // at least one
  probe::Deployment deployment;           // but for the prompt
};

// Whether prefill is bound by arithmetic and decode by bandwidth, on every machine at its longest
// prompt.
bool roofline_holds(const RooflineReport& report);

base::Json roofline_json(const RooflineReport& report);
void print_roofline(const RooflineReport& report);

}  // namespace pawl::cli
