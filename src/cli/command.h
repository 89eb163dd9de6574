// SPDX-License-Identifier: Apache-2.0
// What a command is: a row of the table in main.cc, one file each, and the flags that all of them
// take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "cli/exit_status.h"

namespace pawl::cli {

using Arguments = std::vector<std::string>;  // the words after the command's name
using CommandFunction = base::Result<ExitStatus> (*)(const Arguments&);

struct Command {
  std::string_view purpose;  // title under which the overview lists it
  const CommandHelp* help;
  CommandFunction run;
};

struct CommonOptions {
  std::string model;               // path or name; from $PAWL_MODEL, else the default model
  std::optional<int64_t> threads;  // none: the CPUs this process may use
  std::optional<uint64_t> seed;    // none: one is drawn
  std::string pretokenizer;        // empty: the one the file names
  bool is_json = false;
  bool is_quiet = false;
  bool is_offline = false;
};

// Declares them, as the last group of the help. seed_default: what happens without --seed.
void add_common_options(CommandLine& line, CommonOptions& options,
                        std::string_view seed_default = "drawn, and told in the JSON");

extern const CommandHelp kRunHelp;
extern const CommandHelp kServeHelp;
extern const CommandHelp kUsageHelp;
extern const CommandHelp kLogitsHelp;
extern const CommandHelp kTraceHelp;
extern const CommandHelp kTraceReportHelp;
extern const CommandHelp kTraceVerifyHelp;
extern const CommandHelp kDivergeHelp;
extern const CommandHelp kPhasesHelp;
extern const CommandHelp kBenchHelp;
extern const CommandHelp kSweepHelp;
extern const CommandHelp kCompareHelp;
extern const CommandHelp kPredictHelp;
extern const CommandHelp kLoadHelp;
extern const CommandHelp kSchemaHelp;
extern const CommandHelp kSchemaBillHelp;
extern const CommandHelp kSchemaTrimHelp;
extern const CommandHelp kSchemaLintHelp;
extern const CommandHelp kReportHelp;
extern const CommandHelp kTokenizeHelp;
extern const CommandHelp kEmbedHelp;
extern const CommandHelp kDetokenizeHelp;
extern const CommandHelp kCancelHelp;
extern const CommandHelp kTourHelp;
extern const CommandHelp kModelListHelp;
extern const CommandHelp kModelGetHelp;
extern const CommandHelp kModelShowHelp;
extern const CommandHelp kQuantizeHelp;

base::Result<ExitStatus> run_command(const Arguments& arguments);
base::Result<ExitStatus> serve_command(const Arguments& arguments);
base::Result<ExitStatus> usage_command(const Arguments& arguments);
base::Result<ExitStatus> logits_command(const Arguments& arguments);
base::Result<ExitStatus> trace_command(const Arguments& arguments);
base::Result<ExitStatus> trace_report_command(const Arguments& arguments);
base::Result<ExitStatus> trace_verify_command(const Arguments& arguments);
base::Result<ExitStatus> diverge_command(const Arguments& arguments);
base::Result<ExitStatus> phases_command(const Arguments& arguments);
base::Result<ExitStatus> bench_command(const Arguments& arguments);
base::Result<ExitStatus> sweep_command(const Arguments& arguments);
base::Result<ExitStatus> compare_command(const Arguments& arguments);
base::Result<ExitStatus> predict_command(const Arguments& arguments);
base::Result<ExitStatus> load_command(const Arguments& arguments);
base::Result<ExitStatus> schema_command(const Arguments& arguments);
base::Result<ExitStatus> schema_bill_command(const Arguments& arguments);
base::Result<ExitStatus> schema_trim_command(const Arguments& arguments);
base::Result<ExitStatus> schema_lint_command(const Arguments& arguments);
base::Result<ExitStatus> report_command(const Arguments& arguments);
base::Result<ExitStatus> tokenize_command(const Arguments& arguments);
base::Result<ExitStatus> embed_command(const Arguments& arguments);
base::Result<ExitStatus> detokenize_command(const Arguments& arguments);
base::Result<ExitStatus> cancel_command(const Arguments& arguments);
base::Result<ExitStatus> tour_command(const Arguments& arguments);
base::Result<ExitStatus> model_list_command(const Arguments& arguments);
base::Result<ExitStatus> model_get_command(const Arguments& arguments);
base::Result<ExitStatus> model_show_command(const Arguments& arguments);
base::Result<ExitStatus> quantize_command(const Arguments& arguments);

}  // namespace pawl::cli
