// SPDX-License-Identifier: Apache-2.0
// pawl load: many requests at a server, as a closed loop that keeps some open or as an open one
// that sends when it meant to, and the figures of the field.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/digest.h"
#include "cli/command.h"
#include "cli/lab_session.h"
#include "cli/load_report.h"
#include "cli/prompt_input.h"
#include "lab/arrivals.h"
#include "lab/load.h"
#include "lab/recorder.h"
#include "lab/report.h"
#include "lab/token_estimate.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

const CommandHelp kLoadHelp = {
    "load", "Puts a load on a server, at once or by a schedule, and reports the field's figures.",
    "pawl load --self --requests 20 --prompt 64 --output 16 --concurrency 4",
    "--url URL [options]"};

namespace {

struct LoadFlags {
  LabFlags lab;
  int64_t requests = 100, prompt = 128, output = 64;
  std::optional<std::string> schedule, goodput, limit, out, records, report;
  std::optional<int64_t> max_in_flight;
  double rate = 0;
  bool is_even = false;

  void declare(CommandLine& line) {
    line.group("What to send");
    line.integer({"-n,--requests", "N", "requests in all"}, requests, 1, 10'000'000);
    line.integer({"--prompt", "N", "tokens of each prompt"}, prompt, 1, 10'000'000);
    line.integer({"--output", "N", "tokens of each answer"}, output, 1, 10'000'000);
    line.group("When");
    line.number({"--rate", "R", "requests per second, whatever is open: an open loop",
                 "a closed loop of --concurrency"},
                rate, 0, 1e6);
    line.flag({"--even", "", "with --rate: equal gaps in place of random ones (Poisson, --seed)"},
              is_even);
    line.text({"--schedule", "FILE", "an open loop at these seconds from the start, one on a line",
               "none"},
              schedule);
    line.integer({"--max-in-flight", "N", "open loop: more than so many wait here", "no cap"},
                 max_in_flight, 1, 1'000'000);
    line.group("What is good");
    line.text(
        {"--goodput", "LIST", "count answers that keep all of these ms: ttft:500,itl:50", "none"},
        goodput);
    line.text({"--limit", "LIST", "verdicts on percentiles: ttft:p90:300,tpot:p90:40", "none"},
              limit);
    line.group("Files");
    line.text({"-o,--out", "F.json", "the result", "none"}, out);
    line.text({"--records", "F.jsonl", "raw records of every request", "none"}, records);
    line.text({"--report", "F.html", "one page with tables and plots", "none"}, report);
    lab.declare(line, true);
  }

  bool is_open_loop() const { return rate > 0 || schedule; }
};

struct Wanted {
  std::unique_ptr<lab::Arrivals> arrivals;  // null: a closed loop
  std::optional<lab::Goodput> goodput;
  std::vector<lab::LoadLimit> limits;
};

Result<std::unique_ptr<lab::Arrivals>> read_schedule(const std::string& path) {
  constexpr double kMostSeconds = 1e7;
  PAWL_TRY(const std::string text, read_text(path));
  std::vector<int64_t> offsets;
  for (const std::string& line : lines_of(text)) {
    const auto seconds = parse_number(line);
    if (!seconds || *seconds < 0 || *seconds > kMostSeconds) {
      return Error{ErrorCode::kBadFile,
                   fmt::format("'{}' is no number of seconds from 0 on", line.substr(0, 40)), path};
    }
    offsets.push_back(std::llround(*seconds * 1e9));
  }
  if (offsets.empty()) return Error{ErrorCode::kBadFile, "no instant in it", path};
  return std::unique_ptr<lab::Arrivals>(new lab::TraceArrivals(std::move(offsets)));
}

Result<Wanted> read_wanted(const CommandLine& line, const LoadFlags& flags) {
  Wanted wanted;
  if (flags.rate > 0 && flags.schedule) return line.wrong("give one of --rate and --schedule");
  if (flags.is_open_loop() && line.was_given("--concurrency")) {
    return line.wrong("--concurrency is a closed loop; an open one has --max-in-flight");
  }
  if (!flags.is_open_loop() && flags.max_in_flight) {
    return line.wrong("--max-in-flight is of an open loop: it needs --rate or --schedule");
  }
  if (flags.is_even && flags.rate <= 0) return line.wrong("--even needs --rate");
  if (flags.schedule) {
    PAWL_TRY(wanted.arrivals, read_schedule(*flags.schedule));
  } else if (flags.rate > 0 && flags.is_even) {
    wanted.arrivals = std::make_unique<lab::EvenArrivals>(flags.rate);
  } else if (flags.rate > 0) {
    wanted.arrivals =
        std::make_unique<lab::PoissonArrivals>(flags.rate, flags.lab.seed_or_default());
  }
  if (flags.goodput) {
    PAWL_TRY(wanted.goodput, lab::parse_goodput(*flags.goodput));
  }
  if (flags.limit) {
    PAWL_TRY(wanted.limits, lab::parse_limits(*flags.limit));
  }
  return wanted;
}

// How many requests are over: on a terminal one line that is drawn over.
class LoadProgress {
 public:
  LoadProgress(bool is_quiet, int64_t requests)
      : is_shown_(!is_quiet && is_terminal(STDERR_FILENO)), requests_(requests) {}
  ~LoadProgress() {
    if (is_shown_) fmt::print(stderr, "\r\x1b[K");
  }
  LoadProgress(const LoadProgress&) = delete;
  LoadProgress& operator=(const LoadProgress&) = delete;

  void advance() {
    ++done_;
    if (!is_shown_) return;
    fmt::print(stderr, "\r\x1b[K{} of {} answered", done_, requests_);
    std::fflush(stderr);
  }

 private:
  bool is_shown_;
  int64_t requests_, done_ = 0;
};

Result<lab::LoadResult> run(const LoadFlags& flags, const Wanted& wanted, LabSession& session,
                            const base::Clock& clock, const InterruptWatch& interrupt) {
  std::optional<lab::Recorder> recorder;
  if (flags.records) {
    Json header;
    header["experiment"]["command"] = "load";
    header["experiment"]["date"] = session.conditions.date;  // a load is not gone on with
    header["conditions"] = lab::conditions_json(session.conditions);
    PAWL_TRY(lab::Recorder opened, lab::Recorder::open(*flags.records, header));
    recorder.emplace(std::move(opened));
  }
  lab::LoadPlan plan;
  plan.requests = flags.requests;
  plan.arrivals = wanted.arrivals.get();
  plan.max_in_flight =
      flags.is_open_loop() ? flags.max_in_flight : std::optional(flags.lab.concurrency);
  const bool has_salts = session.run_options(0).salts_cache;
  plan.question = [&](int64_t index) -> Result<lab::Question> {
    lab::Question question;
    PAWL_TRY(question.prompt, session.prompts->make(flags.prompt));
    question.asked.arm = "load";
    question.asked.repetition = index;
    question.asked.prompt_tokens = flags.prompt;
    question.asked.output_tokens = flags.output;
    question.keeps_text = session.facts.tokenize != lab::TokenizeWay::kNone;
    if (has_salts) {
      question.fields["cache_salt"] = base::xxh3_128(std::as_bytes(std::span(question.prompt)));
    }
    return question;
  };
  LoadProgress progress(flags.lab.is_quiet, flags.requests);
  lab::LoadEvents events;
  events.should_stop = [&] { return interrupt.has_stopped(); };
  events.record = [&](const lab::RequestRecord& record) -> Result<void> {
    progress.advance();
    return recorder ? recorder->add(record) : Result<void>();
  };
  return lab::run_load(*session.client, plan, clock, events);
}

// Before the load, so that what is opened and filled once is in no figure.
Result<void> warm_up(const LoadFlags& flags, LabSession& session, const InterruptWatch& interrupt) {
  lab::Question question;
  PAWL_TRY(question.prompt, session.prompts->make(flags.prompt));
  question.asked.arm = "warm-up";
  question.asked.is_warm_up = true;
  question.asked.output_tokens = flags.output;
  const auto record =
      session.client->ask_alone(std::move(question), [&] { return interrupt.has_stopped(); });
  if (record.state == lab::RequestState::kCancelled) {
    return Error{ErrorCode::kCancelled, "stopped", session.conditions.endpoint};
  }
  if (record.state != lab::RequestState::kSuccess) {
    return Error{ErrorCode::kNetwork, "a first request failed: " + record.error,
                 session.conditions.endpoint};
  }
  return {};
}

void complete_conditions(const LoadFlags& flags, lab::Conditions& conditions) {
  if (!flags.is_open_loop()) return;
  conditions.concurrency.reset();
  conditions.max_in_flight = flags.max_in_flight;
  if (flags.rate > 0) conditions.rate = flags.rate;
}

bool has_failed(const lab::LoadResult& result, const std::vector<lab::LoadLimit>& limits) {
  const auto verdicts = lab::judge_limits(result, limits);
  const bool is_missed = std::any_of(verdicts.begin(), verdicts.end(), [](const auto& verdict) {
    return verdict.holds.has_value() && !*verdict.holds;
  });
  return is_missed || lab::client_fault(result.client).has_value();
}

}  // namespace

Result<ExitStatus> load_command(const Arguments& arguments) {
  CommandLine line(kLoadHelp);
  LoadFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  PAWL_TRY(const Wanted wanted, read_wanted(line, flags));
  const InterruptWatch interrupt;
  const base::SteadyClock clock;
  PAWL_TRY(LabSession session, open_lab_session(flags.lab, clock, interrupt));
  PAWL_TRY_VOID(session.check_context(flags.prompt, flags.output));
  complete_conditions(flags, session.conditions);
  PAWL_TRY_VOID(warm_up(flags, session, interrupt));
  PAWL_TRY(lab::LoadResult result, run(flags, wanted, session, clock, interrupt));
  PAWL_TRY(const int64_t estimated,
           lab::estimate_counts(session.client->endpoint(), session.facts, clock, result.records));
  if (estimated > 0) session.conditions.output_counting = "estimated by /tokenize";
  const Json document = lab::load_json(result, session.conditions, wanted.goodput, wanted.limits);
  if (flags.out) PAWL_TRY_VOID(write_text(*flags.out, document.dump() + "\n"));
  if (flags.report) {
    const lab::ReportInput input{"pawl load", document, result.records};
    PAWL_TRY_VOID(write_text(*flags.report, lab::report_page({&input, 1})));
  }
  if (flags.lab.is_json) {
    fmt::print("{}\n", document.dump());
  } else {
    print_load(result, session.conditions, wanted.goodput, wanted.limits);
  }
  if (interrupt.has_stopped()) return ExitStatus::kInterrupted;
  return has_failed(result, wanted.limits) ? ExitStatus::kVerdictFailed : ExitStatus::kDone;
}

}  // namespace pawl::cli
