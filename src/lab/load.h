// SPDX-License-Identifier: Apache-2.0
// A load on a server: an open loop that sends when it meant to, or a closed one that keeps some
// requests open. The client watches itself, and a run in which it was the bottleneck is void.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "lab/arrivals.h"
#include "lab/conditions.h"
#include "lab/openai_client.h"
#include "lab/record.h"

namespace pawl::lab {

struct LoadPlan {
  int64_t requests = 0;
  // Open loop: sends at these instants, with `max_in_flight` as a cap where one is set: what is due
  // then waits here, and its scheduled times say so. Null: closed loop of `max_in_flight` at once.
  Arrivals* arrivals = nullptr;
  std::optional<int64_t> max_in_flight;
  // What request `index` asks. An Error ends the run.
  std::function<base::Result<Question>(int64_t index)> question;
};

// What the client saw of itself.
struct ClientWatch {
  std::vector<double> wake_late_ms;  // a tick every 10 ms: how late this thread came to it
  std::vector<double> send_late_ms;  // open loop: meant → handed over, where no cap held it back
  int64_t held_by_cap = 0;           // requests that waited for a free place
  double cpu_share = 0;              // of one processor, this thread
};
// p99 of either lateness beyond this: the run is void.
inline constexpr double kLateLimitMs = 10;
inline constexpr double kCpuLimit = 0.8;
// Why the client's own delay makes the run void; nothing where it does not.
std::optional<std::string> client_fault(const ClientWatch& watch);

struct LoadResult {
  std::vector<RequestRecord> records;  // in the order of their ends
  int64_t started_ns = 0, ended_ns = 0;
  int64_t most_in_flight = 0;
  ClientWatch client;
};

struct LoadEvents {
  std::function<base::Result<void>(const RequestRecord&)> record;  // as each ends
  std::function<bool()> should_stop;  // open requests are left then; the records say cancelled
};

// Sends the plan and waits for the last answer. Errors: of the plan and of events; kInvalidArgument
// when more connections are wanted than this process may open.
base::Result<LoadResult> run_load(OpenAiClient& client, const LoadPlan& plan,
                                  const base::Clock& clock, const LoadEvents& events);

// How many requests are in each state. sent = the sum of the others.
struct StateCounts {
  int64_t sent = 0, success = 0, failed = 0, truncated = 0, cancelled = 0, in_flight = 0;
  int64_t empty = 0;             // of the successes, without any text
  int64_t no_answer_budget = 0;  // of the successes, thinking alone
};
StateCounts count_states(const std::vector<RequestRecord>& records, int64_t in_flight = 0);

// Limits in ms that a good answer keeps, each of them optional: "ttft:500,tpot:50".
struct Goodput {
  std::optional<double> ttft_ms, tpot_ms, itl_ms, e2e_ms;  // itl: the request's own p99
};
// Error kInvalidArgument names the part that is no limit.
base::Result<Goodput> parse_goodput(std::string_view text);
bool is_good(const RequestRecord& record, const Goodput& limits);

// A percentile that must stay at or below a limit: "ttft:p90:300,tpot:p90:40".
struct LoadLimit {
  std::string name;  // ttft, tpot, itl, e2e
  double percent = 90;
  double limit_ms = 0;
};
// Error kInvalidArgument names the part that is none.
base::Result<std::vector<LoadLimit>> parse_limits(std::string_view text);

struct LimitVerdict {
  LoadLimit limit;
  int64_t n = 0;                   // values, and requests that failed
  std::optional<double> value_ms;  // nothing where the percentile falls on a request that failed
  std::optional<bool> holds;       // nothing where no request could have such a value
};
// Times run from the schedule where there is one. A request that failed or was cut off has no time
// that keeps a limit.
std::vector<LimitVerdict> judge_limits(const LoadResult& result,
                                       const std::vector<LoadLimit>& limits);

// The instants at which requests were sent, and what came behind them.
struct LoadWindow {
  double send_s = 0;                // first sending → last sending
  double drain_s = 0;               // last sending → the last end
  std::optional<double> send_rate;  // requests per second while they were sent
};
LoadWindow window_of(const LoadResult& result);

// Tokens of thinking in an answer, where its events tell them apart from the rest.
std::optional<int64_t> reasoning_tokens(const RequestRecord& record);
// A success that was nothing but thinking when its tokens ran out: no answer, and no fault of it.
bool has_no_answer_for_budget(const RequestRecord& record);

// The figures of a run under the names that the field's benchmarks use (mean_ttft_ms,
// median_ttft_ms, p99_itl_ms, request_throughput, output_throughput, …), states and the client's
// own delays beside them; under "scheduled" the times from the instants that were meant. Times are
// those of successes; first-token times also of answers that we left on purpose.
base::Json load_json(const LoadResult& result, const Conditions& conditions,
                     const std::optional<Goodput>& goodput,
                     const std::vector<LoadLimit>& limits = {});

}  // namespace pawl::lab
