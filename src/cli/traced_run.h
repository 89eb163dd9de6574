// SPDX-License-Identifier: Apache-2.0
// One generation whose forward passes are written down: what `pawl trace` and the tour run.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/model_session.h"
#include "engine/event_sink.h"
#include "policy/policy.h"
#include "probe/trace_writer.h"

namespace pawl::cli {

// What the first line of a trace says. Reads the model's file once, for its hash.
base::Result<probe::TraceHeader> trace_header(const ModelSession& session, const Prompt& prompt,
                                              const policy::Policy& policy);

struct TracedRequest {
  int64_t max_tokens = 32;
  std::vector<std::string> stops;
  int top = 5;  // entries kept of each row
  std::stop_token stop;
};

struct TracedRun {
  engine::Finished finished;
  probe::TraceEnd counts;
  std::optional<double> share_of_decode, cpu_share_of_decode;  // as TraceWriter
};

// Runs the header's prompt and policy; `sink` hears what any request hears, `output` takes the
// lines. Errors: those of the engine and of `output`.
base::Result<TracedRun> run_traced(ModelSession& session, const probe::TraceHeader& header,
                                   const TracedRequest& wanted, const base::Clock& clock,
                                   engine::EventSink& sink,
                                   const probe::TraceWriter::Output& output);

}  // namespace pawl::cli
