// SPDX-License-Identifier: Apache-2.0
// A load's figures for a person at a terminal.
#pragma once

#include <optional>
#include <vector>

#include "lab/conditions.h"
#include "lab/load.h"

namespace pawl::cli {

void print_load(const lab::LoadResult& result, const lab::Conditions& conditions,
                const std::optional<lab::Goodput>& goodput,
                const std::vector<lab::LoadLimit>& limits);

}  // namespace pawl::cli
