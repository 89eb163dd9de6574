// SPDX-License-Identifier: Apache-2.0
// pawl trace verify: whether a trace proves what it says.
#include <fmt/format.h>

#include <cstdio>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/model_session.h"
#include "cli/terminal.h"
#include "cli/trace_document.h"
#include "probe/trace_verify.h"

namespace pawl::cli {

using base::Json;
using base::Result;
using probe::Verdict;

const CommandHelp kTraceVerifyHelp = {
    "trace verify",
    "Checks that each step of a trace follows from the one before, by computing it again.",
    "pawl trace verify t.jsonl", "FILE [options]"};

namespace {

constexpr uint64_t kDefaultSeed = 1;

struct VerifyFlags {
  std::optional<std::string> path;
  bool is_quick = false;
  CommonOptions common;

  void declare(CommandLine& line) {
    line.group("What to verify");
    line.word({"FILE", "", "a file of pawl trace"}, path);
    line.flag({"--quick", "", "only what the file shows by itself: no model is opened"}, is_quick);
    add_common_options(line, common, "1: which steps are taken alone, which token is changed");
  }
};

Json to_json(const std::string& path, const probe::Trace& trace,
             const std::vector<Verdict>& verdicts) {
  Json document;
  document["trace"] = path;
  document["model"] = trace.header.model;
  document["model_sha256"] = trace.header.model_sha256;
  document["steps"] = trace.steps.size();
  document["holds"] = probe::all_hold(verdicts);
  document["verdicts"] = verdicts_json(verdicts);
  return document;
}

// Texts of the file may hold anything.
std::string on_one_line(const std::string& text) {
  std::string valid;
  base::append_valid_utf8(text, valid);
  return visible(valid);
}

void print_verdicts(const std::vector<Verdict>& verdicts) {
  for (const Verdict& verdict : verdicts) {
    std::string said = verdict.checked;
    if (verdict.outcome == Verdict::Outcome::kFails) {
      said = (verdict.step ? fmt::format("step {}: ", *verdict.step) : "") + verdict.reason;
    }
    fmt::print("{:11}  {:10}  {}\n", outcome_name(verdict.outcome), verdict.name,
               on_one_line(said));
  }
}

Result<void> compute(const probe::Trace& trace, CommonOptions common, bool has_model,
                     std::vector<Verdict>& verdicts) {
  if (!has_model) common.model = trace.header.model;
  const base::SteadyClock clock;
  std::optional<ModelSession> session;
  {
    const InterruptWatch interrupt;
    PAWL_TRY(const std::string path, ModelSession::find(common, interrupt.token()));
    PAWL_TRY(const std::string sha256, sha256_of_file(path));
    verdicts.push_back(probe::verify_model(trace.header, common.model, sha256));
    if (!probe::all_hold(verdicts)) return {};
    ModelFlags flags;
    if (!trace.header.is_reference) flags.kv = trace.header.kv_type;
    for (const probe::TraceAdapter& adapter : trace.header.adapters) {
      PAWL_TRY(const std::string adapter_sha256, sha256_of_file(adapter.path));
      verdicts.push_back(probe::verify_adapter(adapter, adapter_sha256));
      if (!probe::all_hold(verdicts)) return {};
      flags.adapters.push_back(fmt::format("{}={}", adapter.path, adapter.scale));
    }
    PAWL_TRY(session, ModelSession::open(common, trace.header.is_reference, clock,
                                         interrupt.token(), flags));
  }
  PAWL_TRY(auto computed, probe::verify_by_computing(trace, *session->runtime,
                                                     common.seed.value_or(kDefaultSeed)));
  for (Verdict& verdict : computed) verdicts.push_back(std::move(verdict));
  return {};
}

}  // namespace

Result<ExitStatus> trace_verify_command(const Arguments& arguments) {
  CommandLine line(kTraceVerifyHelp);
  VerifyFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  if (!flags.path) return line.wrong("FILE is missing: the trace to verify");
  PAWL_TRY(const probe::Trace trace, probe::read_trace(*flags.path));
  std::vector<Verdict> verdicts = probe::verify_chain(trace);
  if (probe::all_hold(verdicts)) {
    if (flags.is_quick) {
      verdicts.push_back({"recomputed",
                          Verdict::Outcome::kNotChecked,
                          "--quick: no model was opened, so logits and choices are only claimed",
                          {},
                          ""});
    } else {
      PAWL_TRY_VOID(compute(trace, flags.common, line.was_given("--model"), verdicts));
    }
  }
  if (flags.common.is_json) {
    fmt::print("{}\n", to_json(*flags.path, trace, verdicts).dump());
  } else {
    print_verdicts(verdicts);
  }
  return probe::all_hold(verdicts) ? ExitStatus::kDone : ExitStatus::kVerdictFailed;
}

}  // namespace pawl::cli
