// SPDX-License-Identifier: Apache-2.0
// The program: a table of commands, and one place where an error becomes a line and an exit status.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "cli/command.h"
#include "cli/model_store.h"
#include "cli/version.h"

namespace pawl::cli {
namespace {

constexpr Command kCommands[] = {
    {"Generate", &kRunHelp, run_command},
    {"Generate", &kServeHelp, serve_command},
    {"Generate", &kUsageHelp, usage_command},
    {"Look inside", &kTourHelp, tour_command},
    {"Look inside", &kLogitsHelp, logits_command},
    {"Look inside", &kTraceHelp, trace_command},
    {"Look inside", &kTraceReportHelp, trace_report_command},
    {"Look inside", &kTraceVerifyHelp, trace_verify_command},
    {"Look inside", &kDivergeHelp, diverge_command},
    {"Look inside", &kPhasesHelp, phases_command},
    {"Look inside", &kBenchHelp, bench_command},
    {"Look inside", &kEmbedHelp, embed_command},
    {"Look inside", &kTokenizeHelp, tokenize_command},
    {"Look inside", &kDetokenizeHelp, detokenize_command},
    {"Measure a server", &kSweepHelp, sweep_command},
    {"Measure a server", &kCompareHelp, compare_command},
    {"Measure a server", &kPredictHelp, predict_command},
    {"Measure a server", &kCancelHelp, cancel_command},
    {"Measure a server", &kLoadHelp, load_command},
    {"Measure a server", &kSchemaHelp, schema_command},
    {"Measure a server", &kSchemaBillHelp, schema_bill_command},
    {"Measure a server", &kSchemaTrimHelp, schema_trim_command},
    {"Measure a server", &kSchemaLintHelp, schema_lint_command},
    {"Measure a server", &kReportHelp, report_command},
    {"Models", &kModelListHelp, model_list_command},
    {"Models", &kModelGetHelp, model_get_command},
    {"Models", &kModelShowHelp, model_show_command},
    {"Models", &kQuantizeHelp, quantize_command},
};

void print_overview() {
  fmt::print("pawl {}: one forward pass, one token; runs language models on CPUs and shows how.\n",
             kVersion);
  std::string_view purpose;
  for (const auto& command : kCommands) {
    if (command.purpose != purpose) fmt::print("\n{}\n", purpose = command.purpose);
    fmt::print("  pawl {:12} {}\n", command.help->name, command.help->summary);
  }
  fmt::print(
      "\nEnvironment\n"
      "  PAWL_MODEL         the model when --model is not given (default {})\n"
      "  PAWL_HOME          where models live, in its folder models (default ~/.cache/pawl)\n"
      "  PAWL_CATALOG       a catalogue file in place of the one that is built in\n"
      "  PAWL_PYTHON        the interpreter whose pip fetches packages (default python3)\n",
      kDefaultModel);
  fmt::print("\nEvery command explains itself: pawl run --help\n");
}

base::Error unknown_command(const std::string& word) {
  std::string names;
  for (const auto& command : kCommands) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", command.help->name);
  }
  return {base::ErrorCode::kInvalidArgument,
          fmt::format("there is no command '{}'; there are {}", word, names), "see: pawl --help"};
}

// The command whose name the words begin with, and how many words that took.
std::pair<const Command*, size_t> find_command(const Arguments& words) {
  for (size_t taken = std::min<size_t>(words.size(), 2); taken > 0; --taken) {
    const std::string name = taken == 2 ? words[0] + " " + words[1] : words[0];
    for (const auto& command : kCommands) {
      if (command.help->name == name) return {&command, taken};
    }
  }
  return {nullptr, 0};
}

base::Result<ExitStatus> run(const Arguments& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_overview();
    return ExitStatus::kDone;
  }
  if (words[0] == "--version") {
    fmt::print("pawl {}\n", kVersion);
    return ExitStatus::kDone;
  }
  const auto [command, taken] = find_command(words);
  if (command != nullptr) return command->run(Arguments(words.begin() + taken, words.end()));
  // "pawl model": the commands that begin with that word.
  std::string members;
  for (const auto& candidate : kCommands) {
    if (!candidate.help->name.starts_with(words[0] + " ")) continue;
    members += fmt::format("  pawl {:12} {}\n", candidate.help->name, candidate.help->summary);
  }
  if (members.empty()) return unknown_command(words[0]);
  if (words.size() > 1 && words[1] != "--help" && words[1] != "-h") {
    return unknown_command(words[0] + " " + words[1]);
  }
  fmt::print("{}", members);
  return ExitStatus::kDone;
}

// What a full disk or a closed pipe swallowed must not pass for done.
base::Result<ExitStatus> run_and_flush(const Arguments& words) {
  auto status = run(words);
  const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (status.ok() && !is_written) {
    return base::Error{base::ErrorCode::kIo, std::string("cannot write: ") + std::strerror(errno),
                       "standard output"};
  }
  return status;
}

}  // namespace
}  // namespace pawl::cli

int main(int count, char** values) {
  using pawl::base::Error;
  using pawl::base::ErrorCode;
  namespace cli = pawl::cli;
  try {
    auto status = cli::run_and_flush(cli::Arguments(values + 1, values + count));
    return static_cast<int>(status.ok() ? *status : cli::report_error(status.error()));
  } catch (const std::bad_alloc&) {
    return static_cast<int>(cli::report_error(Error{ErrorCode::kOutOfMemory, "out of memory", ""}));
  } catch (const std::exception& failure) {
    return static_cast<int>(cli::report_error(Error{ErrorCode::kIo, failure.what(), ""}));
  }
}
