// SPDX-License-Identifier: Apache-2.0
// A study of a schema, and what a lint finds, for a person at a terminal.
#pragma once

#include <string>

#include "cli/lab_session.h"
#include "cli/paint.h"
#include "lab/schema_lint.h"
#include "lab/schema_study.h"

namespace pawl::cli {

// How requests of a study are sent to that server; defined beside the command.
lab::StudyRun study_run(const LabSession& session);

// Tokens and time of each field.
std::string bill_text(const lab::Bill& bill, const Paint& paint);
// What each variant saves, and how often the fields that stay have other values.
std::string variants_text(const lab::StudyPlan& plan, const lab::Study& study, const Paint& paint);
std::string lint_text(const lab::Lint& lint, const Paint& paint);
std::string study_verdicts_text(const lab::Study& study, const Paint& paint);

}  // namespace pawl::cli
