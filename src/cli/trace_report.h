// SPDX-License-Identifier: Apache-2.0
// A trace as one HTML page that needs nothing else: the prefix growing by one, the candidates of
// each pass, the passes along a time line.
#pragma once

#include <string>

#include "base/result.h"
#include "probe/trace.h"

namespace pawl::cli {

// Passes on one page; of a longer trace the first are shown, and the page says so.
inline constexpr size_t kMostPagePasses = 2000;

// Texts stand in the page as data, never as markup, whatever bytes they hold.
std::string trace_page(const probe::Trace& trace);

// Writes the page of a trace; the file is there whole or not at all. Errors: kIo, kNotFound.
base::Result<void> write_trace_page(const probe::Trace& trace, const std::string& path);

}  // namespace pawl::cli
