// SPDX-License-Identifier: Apache-2.0
// The ways to the end of an answer: the whole answer, a request for the end alone, and one that is
// given the beginning. Each is told with the prefix that it was computed from and its passes.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "lab/cancel_check.h"
#include "lab/cancel_requests.h"

namespace pawl::lab {

// What the walk needs of its check, which outlives it.
struct RouteWalk {
  CancelRequests& requests;
  const Endpoint& endpoint;
  const CancelOptions& options;
  const base::Clock& clock;
  const ProgressLine& progress;
  bool uses_record = false;  // the server tells the passes of a request
};

// Fills result.routes. REQUIRES: the whole answer, its suffix and the facts are in it. Errors of
// the requests; a server that refuses to continue an answer leaves that route out.
base::Result<void> walk_routes(const RouteWalk& walk, CancelResult& result);

}  // namespace pawl::lab
