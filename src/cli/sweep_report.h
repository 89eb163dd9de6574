// SPDX-License-Identifier: Apache-2.0
// A sweep's result for a person at a terminal.
#pragma once

#include "lab/sweep.h"

namespace pawl::cli {

void print_sweep(const lab::SweepResult& result);

// "12.3 (11.9 to 12.8)" with that many significant digits.
std::string shown_estimate(const lab::Estimate& estimate, int digits = 3);
// One line: model, server, machine, load, counting, date.
std::string shown_conditions(const lab::Conditions& conditions);

}  // namespace pawl::cli
