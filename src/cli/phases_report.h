// SPDX-License-Identifier: Apache-2.0
// What pawl phases prints of a measurement: tables for people, a document for programs.
#pragma once

#include "base/json.h"
#include "cli/model_session.h"
#include "probe/phases_analysis.h"

namespace pawl::cli {

struct PhasesReport {
  const ModelSession& session;
  const probe::PhasesOptions& options;
  const probe::PhasesSamples& samples;
  const probe::PhasesAnalysis& analysis;
};

base::Json phases_json(const PhasesReport& report);
void print_phases(const PhasesReport& report);

}  // namespace pawl::cli
