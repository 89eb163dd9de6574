// SPDX-License-Identifier: Apache-2.0
// pawl sweep: the two clocks of a server, measured from outside.
#include <fmt/format.h>

#include <filesystem>

#include "cli/command.h"
#include "cli/lab_session.h"
#include "cli/sweep_report.h"
#include "lab/recorder.h"
#include "lab/report.h"
#include "lab/sweep.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

const CommandHelp kSweepHelp = {
    "sweep", "Measures how prompt and output length make a request long, and what blurs the two.",
    "pawl sweep --self --reps 3 --prompts 32,128,512 --outputs 1,16,64", "--url URL [options]"};

namespace {

struct SweepFlags {
  LabFlags lab;
  std::string prompts = "32,128,512,1024", outputs = "1,16,64,128";
  std::optional<int64_t> fixed_prompt, fixed_output;
  lab::SweepOptions options;
  std::string out = "pawl-sweep.json";
  std::optional<std::string> records, report;

  void declare(CommandLine& line) {
    line.group("What to measure");
    line.text({"--prompts", "LIST", "prompt lengths in tokens, at least three"}, prompts);
    line.text({"--outputs", "LIST", "output lengths in tokens"}, outputs);
    line.integer({"--fixed-prompt", "N", "prompt of the arm in which the output grows", "128"},
                 fixed_prompt, 1, 10'000'000);
    line.integer({"--fixed-output", "N", "output of the arm in which the prompt grows", "16"},
                 fixed_output, 2, 10'000'000);
    line.integer({"-r,--reps", "N", "rounds over all shapes, each in an order of its own"},
                 options.repetitions, 2, 10'000);
    line.integer({"--warm-ups", "N", "requests before, never measured"}, options.warm_ups, 0, 1000);
    line.integer({"--probe-pairs", "N", "prompts sent twice, to see a cache"}, options.probe_pairs,
                 0, 1000);
    line.group("Files");
    line.text({"-o,--out", "F.json", "the profile: what predict, compare and report read"}, out);
    line.text({"--records", "F.jsonl", "raw records; a run that broke off goes on from them",
               "the profile's name with .records.jsonl"},
              records);
    line.text({"--report", "F.html", "one page with tables and plots", "none"}, report);
    lab.declare(line, true);
  }

  Result<void> read_lists(const CommandLine& line) {
    PAWL_TRY(options.prompts, parse_list(line, "--prompts", prompts, 1));
    PAWL_TRY(options.outputs, parse_list(line, "--outputs", outputs, 1));
    if (options.prompts.size() < 3) return line.wrong("--prompts: a line needs three lengths");
    if (options.outputs.size() < 2) return line.wrong("--outputs: a tail needs two lengths");
    if (fixed_prompt) options.fixed_prompt = *fixed_prompt;
    if (fixed_output) options.fixed_output = *fixed_output;
    options.seed = lab.seed_or_default();
    return {};
  }
};

std::string records_path(const SweepFlags& flags) {
  if (flags.records) return *flags.records;
  return std::filesystem::path(flags.out).replace_extension(".records.jsonl");
}

// Runs what is not in the file yet; gives all records of the experiment.
Result<std::vector<lab::RequestRecord>> measure(const SweepFlags& flags, LabSession& session,
                                                const base::Clock& clock,
                                                const InterruptWatch& interrupt) {
  const auto plan = lab::plan_sweep(flags.options);
  Json header;
  Json& experiment = header["experiment"];
  experiment = lab::options_json(flags.options);
  experiment["command"] = "sweep";
  experiment["model"] = session.conditions.model;
  experiment["concurrency"] = flags.lab.concurrency;
  // A server of our own has another port each time.
  if (!flags.lab.is_self) experiment["endpoint"] = session.conditions.endpoint;
  header["conditions"] = lab::conditions_json(session.conditions);
  const std::string path = records_path(flags);
  PAWL_TRY(lab::Recorder recorder, lab::Recorder::open(path, header));
  std::vector<lab::RequestRecord> records = recorder.found().records;
  const auto rest = lab::remaining(plan, records);
  if (!records.empty()) {
    note(flags.lab.is_quiet, fmt::format("going on from {} records of {}", records.size(), path));
  }
  // Measured requests of which none is missing: the warm-up alone is not worth sending.
  const bool has_work =
      std::any_of(rest.begin(), rest.end(), [](const auto& p) { return !p.is_warm_up; });
  if (!has_work) return records;
  PAWL_TRY_VOID(run_planned(session, rest, flags.lab, clock, interrupt, &recorder, records));
  return records;
}

}  // namespace

Result<ExitStatus> sweep_command(const Arguments& arguments) {
  CommandLine line(kSweepHelp);
  SweepFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  PAWL_TRY_VOID(flags.read_lists(line));
  const InterruptWatch interrupt;
  const base::SteadyClock clock;
  PAWL_TRY(LabSession session, open_lab_session(flags.lab, clock, interrupt));
  PAWL_TRY_VOID(session.check_context(flags.options.prompts.back(), flags.options.outputs.back()));

  PAWL_TRY(const auto records, measure(flags, session, clock, interrupt));
  const auto result = lab::conclude_sweep(records, session.conditions, flags.options.seed);
  Json document = lab::sweep_json(result);
  document["records"] = records_path(flags);
  PAWL_TRY_VOID(write_text(flags.out, document.dump() + "\n"));
  if (flags.report) {
    lab::ReportInput input{flags.out, document, records};
    PAWL_TRY_VOID(write_text(*flags.report, lab::report_page({&input, 1})));
  }
  if (flags.lab.is_json) {
    fmt::print("{}\n", document.dump());
  } else {
    print_sweep(result);
    fmt::print("\nprofile {}, raw records {}{}\n", flags.out, records_path(flags),
               flags.report ? ", report " + *flags.report : std::string());
  }
  return result.profile.void_because.empty() ? ExitStatus::kDone : ExitStatus::kVerdictFailed;
}

}  // namespace pawl::cli
