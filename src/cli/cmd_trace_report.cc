// SPDX-License-Identifier: Apache-2.0
// pawl trace report: a trace that was written before as a page for a browser.
#include <fmt/format.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/trace_report.h"

namespace pawl::cli {

using base::Json;
using base::Result;

const CommandHelp kTraceReportHelp = {
    "trace report", "Makes one HTML page of a trace: each pass, its candidates and its time.",
    "pawl trace report t.jsonl --out t.html", "FILE --out F.html"};

Result<ExitStatus> trace_report_command(const Arguments& arguments) {
  CommandLine line(kTraceReportHelp);
  std::optional<std::string> path, out;
  bool is_json = false, is_quiet = false;
  line.word({"FILE", "", "a trace that pawl trace wrote"}, path);
  line.text({"--out", "F.html", "the page's file"}, out);
  line.flag({"--json", "", "one JSON document on standard output"}, is_json);
  line.flag({"--quiet", "", "no notes"}, is_quiet);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  if (!path) return line.wrong("FILE is missing");
  if (!out) return line.wrong("--out is missing");
  PAWL_TRY(const probe::Trace trace, probe::read_trace(*path));
  PAWL_TRY_VOID(write_trace_page(trace, *out));
  if (!trace.fault.empty()) note(is_quiet, "the trace is broken at " + trace.fault);
  if (is_json) {
    Json document;
    document["out"] = *out;
    document["passes"] = trace.steps.size();
    document["fault"] = trace.fault.empty() ? Json() : Json(trace.fault);
    fmt::print("{}\n", document.dump());
  } else {
    note(is_quiet, fmt::format("{}: {} passes", *out, trace.steps.size()));
  }
  return ExitStatus::kDone;
}

}  // namespace pawl::cli
