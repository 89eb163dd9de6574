// SPDX-License-Identifier: Apache-2.0
// What pawl diverge prints: how soon answers parted, with intervals, beside the claim of 92 %
// within 12 tokens. The claim is no verdict: models differ.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "cli/model_session.h"
#include "probe/diverge.h"
#include "probe/divergence.h"

namespace pawl::cli {

inline constexpr int kMostWithin = 32;
inline constexpr int kDefaultWithin = 12;

struct DivergeOutcome {
  std::vector<probe::Divergence> compared;
  std::vector<const probe::DivergeCase*> skipped;  // of the cases it was made from
  probe::DivergenceCurve curve;                    // within 1 … kMostWithin
};

// tokens: of each answer. The cases outlive the outcome.
DivergeOutcome diverge_outcome(const std::vector<probe::DivergeCase>& cases, int64_t tokens);

// header: the conditions that the results share. is_whole: nothing was interrupted.
base::Json diverge_json(const ModelSession& session, const base::Json& header,
                        const DivergeOutcome& outcome, int64_t within, bool is_whole);

void print_diverge(const ModelSession& session, const DivergeOutcome& outcome, int64_t within,
                   int64_t tokens);

}  // namespace pawl::cli
