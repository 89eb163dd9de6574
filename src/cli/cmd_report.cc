// SPDX-License-Identifier: Apache-2.0
// pawl report: result files as one page that needs nothing else.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/lab_session.h"
#include "cli/prompt_input.h"
#include "cli/trace_document.h"
#include "lab/recorder.h"
#include "lab/report.h"
#include "probe/trace.h"

namespace pawl::cli {

using base::Result;

const CommandHelp kReportHelp = {"report", "Makes one HTML page of result files: tables and plots.",
                                 "pawl report pawl-sweep.json -o report.html",
                                 "F.json... [options]"};

namespace {

// A result, or a trace: lines of JSON, of which the first says that it is one.
Result<base::Json> read_result(const std::string& path) {
  PAWL_TRY(const std::string text, read_text(path));
  auto document = base::parse_json(text);
  if (!document.ok()) {
    const auto trace = probe::parse_trace(text);
    if (trace.ok()) return trace_document(*trace, {});
    document.error().where = path;
    return document;
  }
  if (document->as_object() == nullptr) {
    return base::Error{base::ErrorCode::kBadFile, "no result: its JSON is no object", path};
  }
  return document;
}

}  // namespace

Result<ExitStatus> report_command(const Arguments& arguments) {
  CommandLine line(kReportHelp);
  std::vector<std::string> files;
  std::string out = "pawl-report.html";
  bool is_quiet = false;
  line.words({"F.json", "", "results of the other commands and traces, in the page's order"},
             files);
  line.group("Options");
  line.text({"-o,--out", "F.html", "the page"}, out);
  line.flag({"--quiet", "", "no notes on standard error"}, is_quiet);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  if (files.empty()) return line.wrong("a result file is needed");
  std::vector<lab::ReportInput> inputs;
  for (const std::string& file : files) {
    PAWL_TRY(base::Json document, read_result(file));
    lab::ReportInput input{file, std::move(document), {}};
    const base::Json* records = input.document.find("records");
    if (records != nullptr && records->as_string() != nullptr) {
      auto read = lab::read_records_file(*records->as_string());
      if (read.ok()) {
        input.records = std::move(read->records);
      } else {
        note(is_quiet, fmt::format("without gaps and timeline: {} ({})", read.error().message,
                                   read.error().where));
      }
    }
    inputs.push_back(std::move(input));
  }
  PAWL_TRY_VOID(write_text(out, lab::report_page(inputs)));
  note(is_quiet, "wrote " + out);
  return ExitStatus::kDone;
}

}  // namespace pawl::cli
