// SPDX-License-Identifier: Apache-2.0
// pawl tour: the whole subject on one model, chapter by chapter, as a text, a document and a page.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/task_pool.h"
#include "cli/command.h"
#include "cli/lab_session.h"
#include "cli/terminal.h"
#include "cli/tour.h"
#include "cli/tour_text.h"
#include "cli/version.h"
#include "kernels/kernels.h"
#include "lab/report.h"
#include "probe/machine.h"

namespace pawl::cli {

using base::Json;
using base::Result;

const CommandHelp kTourHelp = {
    "tour", "Walks the whole subject on one model: each claim, what is measured here, a verdict.",
    "pawl tour", "[options]"};

namespace {

struct TourFlags {
  TourOptions options;
  std::vector<std::string> chapters;
  std::string out = "pawl-tour.html";

  void declare(CommandLine& line) {
    std::string names;
    for (const TourChapter& chapter : tour_chapters()) {
      names += (names.empty() ? "" : ", ") + std::string(chapter.name);
    }
    names_ = "only this one, repeatable: " + names;
    line.group("What to walk");
    line.texts({"--chapter", "NAME", names_}, chapters);
    line.text({"-o,--out", "F.html", "the report"}, out);
    add_common_options(line, options.common, "1");
  }

  Result<std::vector<const TourChapter*>> wanted(const CommandLine& line) const {
    std::vector<const TourChapter*> list;
    for (const TourChapter& chapter : tour_chapters()) {
      const bool is_named =
          std::find(chapters.begin(), chapters.end(), chapter.name) != chapters.end();
      if (chapters.empty() || is_named) list.push_back(&chapter);
    }
    for (const std::string& name : chapters) {
      const bool is_known = std::any_of(list.begin(), list.end(), [&](const TourChapter* chapter) {
        return chapter->name == name;
      });
      if (!is_known) {
        return line.wrong(fmt::format("--chapter: there is no chapter '{}'", name.substr(0, 40)));
      }
    }
    return list;
  }

 private:
  std::string names_;
};

struct Counts {
  int64_t holds = 0, fails = 0, cannot_tell = 0, differs = 0;
};
Counts count(const std::vector<TourChapterDone>& done) {
  Counts counts;
  for (const TourChapterDone& one : done) {
    for (const TourFinding& finding : one.result.findings) {
      counts.holds += finding.verdict == TourVerdict::kHolds ? 1 : 0;
      counts.fails += finding.verdict == TourVerdict::kFails ? 1 : 0;
      counts.cannot_tell += finding.verdict == TourVerdict::kCannotTell ? 1 : 0;
      counts.differs += finding.verdict == TourVerdict::kDiffers ? 1 : 0;
    }
  }
  return counts;
}

Json finding_json(const TourFinding& finding) {
  Json json;
  json["row"] = finding.row;
  json["title"] = finding.title;
  json["claim"] = finding.claim;
  json["figure"] = finding.figure;
  json["measured"] = finding.measured;
  json["verdict"] = verdict_name(finding.verdict);
  return json;
}

Json document_of(const Json& conditions, const std::vector<TourChapterDone>& done, double seconds) {
  Json document;
  document["kind"] = "tour";
  document["conditions"] = conditions;
  document["chapters"] = Json::array();
  for (const TourChapterDone& one : done) {
    Json chapter;
    chapter["number"] = one.chapter->number;
    chapter["name"] = one.chapter->name;
    chapter["title"] = one.chapter->title;
    chapter["seconds"] = one.seconds;
    chapter["findings"] = Json::array();
    for (const TourFinding& finding : one.result.findings) {
      chapter["findings"].push_back(finding_json(finding));
    }
    chapter["closer"] = one.chapter->closer;
    chapter["results"] = Json::array();
    for (const Json& result : one.result.documents) chapter["results"].push_back(result);
    document["chapters"].push_back(std::move(chapter));
  }
  const Counts counts = count(done);
  document["holds"] = counts.holds;
  document["does_not_hold"] = counts.fails;
  document["cannot_tell"] = counts.cannot_tell;
  document["differs_here"] = counts.differs;
  document["left_out"] = nullptr;
  document["seconds"] = seconds;
  return document;
}

std::string sum_text(const Counts& counts, double seconds) {
  std::string text = fmt::format("{} hold", counts.holds);
  if (counts.differs > 0) text += fmt::format(" · {} differ here", counts.differs);
  if (counts.fails > 0) text += fmt::format(" · {} do not hold here", counts.fails);
  if (counts.cannot_tell > 0) text += fmt::format(" · {} cannot be told", counts.cannot_tell);
  return text + " · " + human_seconds(seconds);
}

struct Machine {
  Json conditions;
  std::string text;
};
Result<Machine> machine_of(const TourFlags& flags) {
  const char* const forced = std::getenv("PAWL_ISA");
  PAWL_TRY(const kernels::Table* const table, kernels::choose_table(forced ? forced : ""));
  const std::string cpu = probe::cpu_name().value_or("a processor without a name");
  const int64_t threads = flags.options.common.threads.value_or(base::TaskPool::available_cpus());
  Machine machine;
  machine.text = fmt::format("{} · {} threads · {} · pawl {}", cpu, threads, table->name, kVersion);
  machine.conditions["model"] = flags.options.common.model;
  machine.conditions["pawl"] = kVersion;
  machine.conditions["machine"] = cpu;
  machine.conditions["threads"] = threads;
  machine.conditions["isa"] = table->name;
  machine.conditions["concurrency"] = 1;
  machine.conditions["seed"] = flags.options.seed();
  machine.conditions["date"] = lab::utc_date();
  return machine;
}

Result<std::vector<TourChapterDone>> walk(const TourFlags& flags,
                                          const std::vector<const TourChapter*>& chapters,
                                          const base::Clock& clock,
                                          const InterruptWatch& interrupt) {
  const Paint paint = Paint::of(STDOUT_FILENO);
  double usual_s = 0;
  for (const TourChapter* chapter : chapters) usual_s += chapter->usual_s;
  TourProgressLine progress(flags.options.common.is_quiet, usual_s, clock);
  Tour tour(flags.options, clock, interrupt,
            [&](double share, std::string_view what) { progress.update(share, what); });
  std::vector<TourChapterDone> done;
  for (const TourChapter* chapter : chapters) {
    progress.begin(*chapter, done.size() + 1, chapters.size());
    progress.update(0, "");
    const int64_t start_ns = clock.now_ns();
    auto result = chapter->run(tour);
    progress.end();
    if (!result.ok()) return std::move(result).error();
    done.push_back({chapter, ms_between(start_ns, clock.now_ns()) / 1000, std::move(*result)});
    if (flags.options.common.is_json) continue;
    fmt::print("{}", tour_chapter_text(done.back(), paint));
    std::fflush(stdout);
  }
  return done;
}

}  // namespace

Result<ExitStatus> tour_command(const Arguments& arguments) {
  CommandLine line(kTourHelp);
  TourFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  PAWL_TRY(const auto chapters, flags.wanted(line));
  const InterruptWatch interrupt;
  const base::SteadyClock clock;
  // Fetched before anything is measured, where it is not here.
  PAWL_TRY(const std::string path, ModelSession::find(flags.options.common, interrupt.token()));
  PAWL_TRY(const Machine machine, machine_of(flags));
  const Paint paint = Paint::of(STDOUT_FILENO);
  const bool is_json = flags.options.common.is_json;
  if (!is_json) {
    std::set<int> numbers;
    for (const TourChapter* chapter : chapters) numbers.insert(chapter->number);
    fmt::print("{}",
               tour_head_text({flags.options.common.model, machine.text, numbers.size()}, paint));
    std::fflush(stdout);
  }
  const int64_t start_ns = clock.now_ns();
  PAWL_TRY(const auto done, walk(flags, chapters, clock, interrupt));
  const double seconds = ms_between(start_ns, clock.now_ns()) / 1000;
  Json document = document_of(machine.conditions, done, seconds);
  document["report"] = flags.out;
  const lab::ReportInput input{"pawl tour", document, {}};
  PAWL_TRY_VOID(write_text(flags.out, lab::report_page({&input, 1})));
  const Counts counts = count(done);
  if (is_json) {
    fmt::print("{}\n", document.dump());
  } else {
    fmt::print("{}\n  {}\n", tour_table_text(done, paint),
               paint(Ink::kBold, sum_text(counts, seconds)));
    fmt::print("  all of it with plots: {}\n\n", paint(Ink::kTail, flags.out));
  }
  return counts.fails > 0 ? ExitStatus::kVerdictFailed : ExitStatus::kDone;
}

}  // namespace pawl::cli
