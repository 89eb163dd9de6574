// SPDX-License-Identifier: Apache-2.0
// pawl compare: two request shapes at one server, in turn, and which of them takes longer.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/lab_session.h"
#include "cli/sweep_report.h"
#include "lab/compare.h"
#include "lab/recorder.h"
#include "lab/report.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Result;
using lab::Comparison;
using lab::Slower;

const CommandHelp kCompareHelp = {
    "compare", "Sends two request shapes in turn and says which takes longer, and what part of it.",
    "pawl compare --self --a 512,8 --b 32,64", "--a P,O --b P,O --url URL [options]"};

namespace {

struct CompareFlags {
  LabFlags lab;
  std::optional<std::string> a, b, out, records, report;
  int64_t repetitions = 8, warm_ups = 2;

  void declare(CommandLine& line) {
    line.group("What to compare");
    line.text({"--a", "P,O", "tokens of prompt and output of the one", "needed"}, a);
    line.text({"--b", "P,O", "of the other", "needed"}, b);
    line.integer({"-r,--reps", "N", "requests of each"}, repetitions, 2, 10'000);
    line.integer({"--warm-ups", "N", "requests before, never measured"}, warm_ups, 0, 1000);
    line.group("Files");
    line.text({"-o,--out", "F.json", "the result", "none"}, out);
    line.text({"--records", "F.jsonl", "raw records; goes on from those that are there", "none"},
              records);
    line.text({"--report", "F.html", "one page with tables and plots", "none"}, report);
    lab.declare(line, true);
  }
};

Result<lab::Shape> shape_of(const CommandLine& line, std::string_view flag,
                            const std::optional<std::string>& text) {
  if (!text) return line.wrong(fmt::format("{} P,O is needed", flag));
  const auto shape = lab::parse_shape(*text);
  if (!shape || !shape->name.empty() || shape->shape.prompt < 1) {
    return line.wrong(fmt::format("{}: '{}' is no P,O of two numbers from 1 on", flag,
                                  std::string_view(*text).substr(0, 40)));
  }
  return shape->shape;
}

Result<std::vector<lab::RequestRecord>> measure(const CompareFlags& flags, LabSession& session,
                                                const std::vector<lab::Planned>& plan,
                                                const base::Clock& clock,
                                                const InterruptWatch& interrupt) {
  base::Json experiment;
  experiment["command"] = "compare";
  experiment["a"] = *flags.a;
  experiment["b"] = *flags.b;
  experiment["model"] = session.conditions.model;
  experiment["concurrency"] = flags.lab.concurrency;
  return run_plan_recorded(session, plan, flags.lab, clock, interrupt, flags.records, experiment);
}

void print_half(std::string_view name, const lab::Half& half) {
  constexpr int kCells = 40;
  const double share = half.before_ms / half.mean_ms.value;
  std::string bar;
  for (int i = 0; i < kCells; ++i) bar += i < share * kCells ? "█" : "░";
  fmt::print("{}  {:.0f} in, {:.0f} out: {} ({} to {}), n = {}\n", name, half.prompt, half.output,
             human_ms(half.mean_ms.value), human_ms(half.mean_ms.interval.low),
             human_ms(half.mean_ms.interval.high), half.n);
  fmt::print("   {}  {} before the first text, {} after: {} decides\n", bar,
             human_ms(half.before_ms), human_ms(half.after_ms),
             half.before_ms > half.after_ms ? "the prompt" : "the output");
}

void print_rule(std::string_view name, Slower says, Slower truth) {
  const std::string_view mark = truth == Slower::kCannotTell || says == Slower::kCannotTell
                                    ? "?"
                                    : (says == truth ? "✓" : "✗");
  fmt::print("  {} {:14} says {}\n", mark, name, lab::slower_name(says));
}

void print_comparison(const Comparison& comparison, const lab::Conditions& conditions) {
  fmt::print("{}\n\n", shown_conditions(conditions));
  print_half("a", comparison.a);
  print_half("b", comparison.b);
  if (comparison.failed > 0) fmt::print("{} requests failed\n", comparison.failed);
  fmt::print("\n");
  if (comparison.slower == Slower::kCannotTell) {
    fmt::print("cannot tell which takes longer: a takes {} times the time of b\n",
               shown_estimate(comparison.ratio));
  } else {
    fmt::print("{} takes longer: a takes {} times the time of b\n",
               lab::slower_name(comparison.slower), shown_estimate(comparison.ratio));
  }
  print_rule("output length", comparison.by_output, comparison.slower);
  print_rule("total tokens", comparison.by_total, comparison.slower);
  fmt::print("\n");
  if (comparison.exchange) {
    fmt::print("one output token took as long as {} prompt tokens here\n",
               shown_estimate(*comparison.exchange));
  }
  if (comparison.flips_at) {
    fmt::print(
        "the order of these two turns at {:.3g}: above it the longer output decides, below it "
        "the longer prompt\n",
        *comparison.flips_at);
  } else {
    fmt::print("one of them has no more of either: the order is the same at every exchange rate\n");
  }
  fmt::print(
      "at {:.0f}, told of data-centre accelerators, a would take {:.3g} times the time of b\n",
      lab::kClaimedExchange, comparison.claimed_ratio);
}

}  // namespace

Result<ExitStatus> compare_command(const Arguments& arguments) {
  CommandLine line(kCompareHelp);
  CompareFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  PAWL_TRY(const lab::Shape a, shape_of(line, "--a", flags.a));
  PAWL_TRY(const lab::Shape b, shape_of(line, "--b", flags.b));
  const InterruptWatch interrupt;
  const base::SteadyClock clock;
  PAWL_TRY(LabSession session, open_lab_session(flags.lab, clock, interrupt));
  for (const lab::Shape& shape : {a, b}) {
    PAWL_TRY_VOID(session.check_context(static_cast<int64_t>(shape.prompt),
                                        static_cast<int64_t>(shape.output)));
  }
  const uint64_t seed = flags.lab.seed_or_default();
  const auto plan = lab::plan_comparison(a, b, flags.repetitions, flags.warm_ups, seed);
  PAWL_TRY(const auto records, measure(flags, session, plan, clock, interrupt));
  const auto comparison = lab::conclude_comparison(records, seed);
  if (!comparison) {
    return Error{ErrorCode::kNetwork, "fewer than two requests of each shape succeeded",
                 session.conditions.endpoint};
  }
  const base::Json document = lab::comparison_json(*comparison, session.conditions);
  if (flags.out) PAWL_TRY_VOID(write_text(*flags.out, document.dump() + "\n"));
  if (flags.report) {
    lab::ReportInput input{"pawl compare", document, records};
    PAWL_TRY_VOID(write_text(*flags.report, lab::report_page({&input, 1})));
  }
  if (flags.lab.is_json) {
    fmt::print("{}\n", document.dump());
  } else {
    print_comparison(*comparison, session.conditions);
  }
  return ExitStatus::kDone;
}

}  // namespace pawl::cli
