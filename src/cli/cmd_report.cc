// SPDX-License-Identifier: Apache-2.0
// pawl report: result files as one page that needs nothing else.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/lab_session.h"
#include "lab/recorder.h"
#include "lab/report.h"

namespace pawl::cli {

using base::Result;

const CommandHelp kReportHelp = {"report", "Makes one HTML page of result files: tables and plots.",
                                 "pawl report pawl-sweep.json -o report.html",
                                 "F.json... [options]"};

Result<ExitStatus> report_command(const Arguments& arguments) {
  CommandLine line(kReportHelp);
  std::vector<std::string> files;
  std::string out = "pawl-report.html";
  bool is_quiet = false;
  line.words({"F.json", "", "results of sweep, compare and predict, in the page's order"}, files);
  line.group("Options");
  line.text({"-o,--out", "F.html", "the page"}, out);
  line.flag({"--quiet", "", "no notes on standard error"}, is_quiet);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  if (files.empty()) return line.wrong("a result file is needed");
  std::vector<lab::ReportInput> inputs;
  for (const std::string& file : files) {
    PAWL_TRY(base::Json document, read_json(file));
    if (document.as_object() == nullptr) {
      return base::Error{base::ErrorCode::kBadFile, "no result: its JSON is no object", file};
    }
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
