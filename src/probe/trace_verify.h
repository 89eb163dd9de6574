// SPDX-License-Identifier: Apache-2.0
// Whether a trace proves what it says: first from what is written in it, then by computing it again
// with the model. Each verdict says what was looked at, and the first step that does not hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/runtime.h"
#include "probe/trace.h"

namespace pawl::probe {

struct Verdict {
  enum class Outcome { kHolds, kFails, kNotChecked };

  std::string_view name;
  Outcome outcome = Outcome::kHolds;
  std::string checked;          // what was done, for a verdict that holds; else why it was not
  std::optional<int64_t> step;  // the first that fails; none when it is no step's fault
  std::string reason;           // why it fails
};

// Whether none fails.
bool all_hold(const std::vector<Verdict>& verdicts);

// From the trace alone. "chain": every line is read, steps are consecutive, inputs are the prompt
// and then each selected id, each prefix is the one before and its inputs. "passes": one pass for
// each selected token, and the closing line counts them.
std::vector<Verdict> verify_chain(const Trace& trace);

// Whether this file is the one that was traced. `name`: of the model that was opened.
Verdict verify_model(const TraceHeader& header, std::string_view name, std::string_view sha256);

// The same for an adapter: the file at its path.
Verdict verify_adapter(const TraceAdapter& adapter, std::string_view sha256);

// By computing. REQUIRES: all verdicts of verify_chain hold; `runtime` has the precision, the
// type of keys and values and the adapters of the header. `seed`: of which steps are taken alone,
// and which token is changed.
//   "recomputed": all rows in one causal pass over the text, in other chunks than the trace's; the
//     policy is replayed on them.
//   "alone": the first step, the last and up to six others, each from its prefix only, which goes
//     through the model as one pass over an empty cache.
//   "changed": one earlier token replaced: every row before it is the same bit for bit, and rows
//     from it on change.
// Stops at the first verdict that fails. Errors: kOutOfMemory.
base::Result<std::vector<Verdict>> verify_by_computing(const Trace& trace, engine::Runtime& runtime,
                                                       uint64_t seed);

}  // namespace pawl::probe
