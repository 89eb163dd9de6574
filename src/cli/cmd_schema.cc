// SPDX-License-Identifier: Apache-2.0
// pawl schema: what each field of an output schema costs, what leaving it out saves and changes,
// and what is wrong with the schema to begin with.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "cli/command.h"
#include "cli/lab_progress.h"
#include "cli/lab_session.h"
#include "cli/prompt_input.h"
#include "cli/schema_report.h"
#include "cli/sweep_report.h"
#include "lab/report.h"
#include "lab/schema_study.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

const CommandHelp kSchemaHelp = {
    "schema",
    "Measures what each field of an output schema costs, and what leaving it out saves and "
    "changes.",
    "pawl schema --self --schema schema.json --prompts prompts.jsonl -n 6",
    "--schema F.json --prompts F --url URL [options]"};
const CommandHelp kSchemaBillHelp = {
    "schema bill",
    "Puts every token and millisecond of an answer down to the field it was spent on.",
    "pawl schema bill --self --schema schema.json --prompts prompts.jsonl -n 6",
    "--schema F.json --prompts F --url URL [options]"};
const CommandHelp kSchemaTrimHelp = {
    "schema trim",
    "Asks without each field, and tells the time saved and the answers that changed.",
    "pawl schema trim --self --schema schema.json --prompts prompts.jsonl -n 6",
    "--schema F.json --prompts F --url URL [options]"};
const CommandHelp kSchemaLintHelp = {
    "schema lint", "Finds what in a schema costs more than it gives, and writes a better one.",
    "pawl schema lint --schema schema.json", "--schema F.json [options]"};

namespace {

enum class Part { kAll, kBill, kTrim };

struct StudyFlags {
  LabFlags lab;
  std::optional<std::string> schema, prompts, out, records, report, proposed;
  std::optional<int64_t> first;
  int64_t repetitions = 1, max_tokens = 512;
  std::vector<std::string> drop, each, variants;

  void declare(CommandLine& line, Part part) {
    line.group("What to ask");
    line.text({"--schema", "F.json", "the JSON Schema of the answers, an object", "needed"},
              schema);
    line.text({"--prompts", "F",
               "a line each: a text, or {\"prompt\", \"expected\": {right values}}; {fields} in it "
               "stands for the fields that are asked for",
               "needed"},
              prompts);
    line.integer({"-n,--first", "N", "prompts, from the first on", "all"}, first, 1, 100'000);
    line.integer({"-r,--reps", "N", "rounds over all of them"}, repetitions, 1, 1000);
    line.integer({"--max-tokens", "N", "of an answer; what ends there is counted apart"},
                 max_tokens, 1, 1'000'000);
    if (part != Part::kBill) {
      line.texts({"--drop", "FIELD",
                  "not asked for at all, and stripped afterwards; repeatable; a.b is b inside a",
                  "reasoning, else the longest text"},
                 drop);
      line.texts({"--field", "FIELD", "left out alone; repeatable", "each of the root"}, each);
      line.texts({"--variant", "NAME", "stripped, without, not or reordered; repeatable", "all"},
                 variants);
    }
    line.group("Files");
    line.text({"-o,--out", "F.json", "the result", "none"}, out);
    if (part == Part::kAll) {
      line.text({"--proposed", "F.json", "the schema with all that the lint proposes", "none"},
                proposed);
    }
    line.text({"--records", "F.jsonl", "raw records; goes on from those that are there", "none"},
              records);
    line.text({"--report", "F.html", "one page with tables and plots", "none"}, report);
    lab.declare(line, true);
  }

  lab::StudyOptions options(Part part) const {
    lab::StudyOptions options;
    for (const std::string& path : drop) options.drop.push_back(lab::parse_path(path));
    for (const std::string& path : each) options.each.push_back(lab::parse_path(path));
    options.variants = variants;
    if (part == Part::kBill) options.variants = {"full"};
    return options;
  }
};

Result<Json> read_schema(const CommandLine& line, const std::optional<std::string>& path) {
  if (!path) return line.wrong("--schema F.json is needed");
  return read_json(*path);
}

Result<std::vector<lab::StudyPrompt>> read_prompts(const CommandLine& line,
                                                   const StudyFlags& flags) {
  if (!flags.prompts) return line.wrong("--prompts F is needed");
  PAWL_TRY(const std::string text, read_text(*flags.prompts));
  auto prompts = lab::parse_study_prompts(text);
  if (!prompts.ok()) {
    const std::string where = prompts.error().where;
    prompts.error().where = *flags.prompts + (where.empty() ? "" : ", " + where);
    return prompts;
  }
  if (flags.first) {
    prompts->resize(std::min<size_t>(prompts->size(), static_cast<size_t>(*flags.first)));
  }
  return prompts;
}

struct Asked {
  const StudyFlags& flags;
  const Json& schema;
  const std::vector<lab::StudyPrompt>& prompts;
  const lab::StudyPlan& plan;
};

Json experiment_of(const Asked& asked, const LabSession& session) {
  Json experiment;
  experiment["command"] = "schema";
  experiment["model"] = session.conditions.model;
  experiment["schema"] = asked.schema;
  experiment["max_tokens"] = asked.flags.max_tokens;
  experiment["concurrency"] = asked.flags.lab.concurrency;
  experiment["prompts"] = Json::array();
  for (const auto& prompt : asked.prompts) experiment["prompts"].push_back(prompt.text);
  return experiment;
}

Result<std::vector<lab::RequestRecord>> measure(const Asked& asked, LabSession& session,
                                                const base::Clock& clock,
                                                const InterruptWatch& interrupt) {
  const StudyFlags& flags = asked.flags;
  std::vector<lab::RequestRecord> records;
  std::optional<lab::Recorder> recorder;
  if (flags.records) {
    Json header;
    header["experiment"] = experiment_of(asked, session);
    header["conditions"] = lab::conditions_json(session.conditions);
    PAWL_TRY(lab::Recorder opened, lab::Recorder::open(*flags.records, header));
    records = opened.found().records;
    recorder.emplace(std::move(opened));
  }
  const auto all = lab::study_requests(asked.plan.variants.size(), asked.prompts.size(),
                                       flags.repetitions, flags.lab.seed_or_default());
  const auto rest = lab::remaining_requests(asked.plan, all, records);
  lab::StudyRun run = study_run(session);
  run.max_tokens = flags.max_tokens;
  run.first_index = static_cast<int64_t>(records.size());
  LabProgress progress(flags.lab.is_quiet, rest.size(), static_cast<double>(rest.size()), clock);
  lab::RunEvents events;
  events.should_stop = [&] { return interrupt.has_stopped(); };
  events.record = [&](const lab::RequestRecord& record) -> Result<void> {
    progress.advance(1, record.asked.arm);
    records.push_back(record);
    return recorder ? recorder->add(record) : Result<void>();
  };
  PAWL_TRY_VOID(
      lab::run_study(*session.client, asked.plan, asked.prompts, rest, run, clock, events));
  return records;
}

void print_study(const StudyFlags& flags, Part part, const lab::StudyPlan& plan,
                 const lab::Study& study, const lab::Lint* lint,
                 const lab::Conditions& conditions) {
  const Paint paint = Paint::of(STDOUT_FILENO);
  fmt::print("{}\n", shown_conditions(conditions));
  fmt::print("{}: {} fields, {} prompts\n", *flags.schema, plan.fields.size(), study.prompts);
  fmt::print("{}", bill_text(study.bill, paint));
  if (part != Part::kBill) fmt::print("{}", variants_text(plan, study, paint));
  if (lint != nullptr) fmt::print("{}", lint_text(*lint, paint));
  fmt::print("{}", study_verdicts_text(study, paint));
}

Result<ExitStatus> study_command(const Arguments& arguments, const CommandHelp& help, Part part) {
  CommandLine line(help);
  StudyFlags flags;
  flags.declare(line, part);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  PAWL_TRY(const Json schema, read_schema(line, flags.schema));
  PAWL_TRY(const auto prompts, read_prompts(line, flags));
  PAWL_TRY(const lab::StudyPlan plan, lab::plan_study(schema, prompts, flags.options(part)));
  const InterruptWatch interrupt;
  const base::SteadyClock clock;
  PAWL_TRY(LabSession session, open_lab_session(flags.lab, clock, interrupt));
  session.conditions.cache =
      study_run(session).salts_cache ? "the same prompts, cache salts" : "the same prompts again";
  session.conditions.prompt_counting = "usage";
  PAWL_TRY(const auto records, measure({flags, schema, prompts, plan}, session, clock, interrupt));
  const auto study = lab::conclude_study(plan, prompts, records);
  if (!study) {
    int64_t asked = 0, ended_early = 0;
    for (const lab::RequestRecord& record : records) {
      if (record.asked.arm != plan.variants.front().name || record.asked.is_warm_up) continue;
      ++asked;
      ended_early += record.finish_reason == "length" ? 1 : 0;
    }
    return Error{ErrorCode::kNetwork,
                 fmt::format("no whole answer came of {} asked in full: {} ended before their JSON "
                             "did",
                             asked, ended_early),
                 session.conditions.endpoint};
  }
  std::optional<lab::Lint> lint;
  if (part == Part::kAll) {
    PAWL_TRY(lint, lab::lint_schema(schema, study->answers));
  }
  const Json document =
      lab::study_json(plan, *study, schema, lint ? &*lint : nullptr, session.conditions);
  if (flags.out) PAWL_TRY_VOID(write_text(*flags.out, document.dump() + "\n"));
  if (flags.proposed) PAWL_TRY_VOID(write_text(*flags.proposed, lint->proposed.dump() + "\n"));
  if (flags.report) {
    const lab::ReportInput input{"pawl schema", document, records};
    PAWL_TRY_VOID(write_text(*flags.report, lab::report_page({&input, 1})));
  }
  if (flags.lab.is_json) {
    fmt::print("{}\n", document.dump());
  } else {
    print_study(flags, part, plan, *study, lint ? &*lint : nullptr, session.conditions);
  }
  return study->has_failed() ? ExitStatus::kVerdictFailed : ExitStatus::kDone;
}

// Answers of a file: a JSON object a line.
Result<std::vector<Json>> read_answers(const std::string& path) {
  PAWL_TRY(const std::string text, read_text(path));
  std::vector<Json> answers;
  for (const std::string& line : lines_of(text)) {
    auto answer = base::parse_json(line);
    if (!answer.ok()) {
      return Error{ErrorCode::kBadFile, answer.error().message,
                   fmt::format("{}, answer {}", path, answers.size() + 1)};
    }
    answers.push_back(std::move(*answer));
  }
  return answers;
}

}  // namespace

lab::StudyRun study_run(const LabSession& session) {
  lab::StudyRun run;
  run.concurrency = session.conditions.concurrency.value_or(1);
  run.salts_cache = session.run_options(0).salts_cache;
  run.asks_tokens = session.facts.server == "pawl";
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  run.salt = static_cast<uint64_t>(now.count()) ^ (static_cast<uint64_t>(::getpid()) << 40);
  return run;
}

Result<ExitStatus> schema_command(const Arguments& arguments) {
  return study_command(arguments, kSchemaHelp, Part::kAll);
}
Result<ExitStatus> schema_bill_command(const Arguments& arguments) {
  return study_command(arguments, kSchemaBillHelp, Part::kBill);
}
Result<ExitStatus> schema_trim_command(const Arguments& arguments) {
  return study_command(arguments, kSchemaTrimHelp, Part::kTrim);
}

Result<ExitStatus> schema_lint_command(const Arguments& arguments) {
  CommandLine line(kSchemaLintHelp);
  std::optional<std::string> schema_path, answers_path, proposed;
  bool is_json = false;
  line.group("What to look at");
  line.text({"--schema", "F.json", "the JSON Schema of the answers, an object", "needed"},
            schema_path);
  line.text({"--answers", "F.jsonl", "answers to it, one a line: what they hold is looked at too",
             "none"},
            answers_path);
  line.group("Files");
  line.text({"--proposed", "F.json", "the schema with all that is proposed", "none"}, proposed);
  line.group("Common");
  line.flag({"--json", "", "prints one JSON document on standard output, nothing else"}, is_json);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  PAWL_TRY(const Json schema, read_schema(line, schema_path));
  std::vector<Json> answers;
  if (answers_path) {
    PAWL_TRY(answers, read_answers(*answers_path));
  }
  PAWL_TRY(const lab::Lint lint, lab::lint_schema(schema, answers));
  if (proposed) PAWL_TRY_VOID(write_text(*proposed, lint.proposed.dump() + "\n"));
  if (is_json) {
    Json document = lab::lint_json(lint);
    document["kind"] = "schema lint";
    document["answers"] = static_cast<int64_t>(answers.size());
    document["holds"] = lint.findings.empty();
    fmt::print("{}\n", document.dump());
  } else {
    const Paint paint = Paint::of(STDOUT_FILENO);
    fmt::print("{}", lint_text(lint, paint));
    if (!lint.findings.empty() && !proposed) {
      fmt::print("\nAll of it in one schema:\n{}\n", lint.proposed.dump());
    }
  }
  return lint.findings.empty() ? ExitStatus::kDone : ExitStatus::kVerdictFailed;
}

}  // namespace pawl::cli
