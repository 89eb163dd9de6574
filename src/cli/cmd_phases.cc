// SPDX-License-Identifier: Apache-2.0
// pawl phases: prefill against decode, measured beside what this machine can do, or counted for a
// machine that is not here.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "cli/command.h"
#include "cli/model_session.h"
#include "cli/phases_report.h"
#include "cli/prompt_input.h"
#include "cli/roofline_report.h"
#include "cli/terminal.h"
#include "model/model.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Result;

extern const char kHardwareJson[];

const CommandHelp kPhasesHelp = {
    "phases", "Measures what limits prefill and what limits decode, with and without a KV cache.",
    "pawl phases --prompt 16..512 -r 3", "[options]"};

namespace {

constexpr int64_t kMostPositions = 1 << 24;
constexpr size_t kMostLengths = 64;
constexpr uint64_t kDefaultSeed = 1;
constexpr int64_t kHardwarePrompt = 1024;

struct PhasesFlags {
  std::optional<std::string> prompts;
  int64_t steps = 8;
  int64_t rounds = 5;
  std::optional<std::string> hardware;
  probe::Deployment deployment;
  ModelFlags model;
  CommonOptions common;

  void declare(CommandLine& line) {
    line.group("What to measure");
    line.text({"-p,--prompt", "LIST", "prompt lengths, 16,100,512 or doubling 16..512",
               "16..1024; 1024 with --hardware"},
              prompts);
    line.integer({"-n,--tokens", "N", "decode steps at each length and round"}, steps, 1, 10000);
    line.integer({"-r,--reps", "N", "rounds over all lengths; intervals need two"}, rounds, 1,
                 10000);
    line.group("A machine that is not here");
    line.text({"--hardware", "NAME",
               "count instead of measuring: a name, 'all' that are built in, "
               "'here', or a JSON file",
               "measure"},
              hardware);
    line.number({"--params", "X", "parameters of the model"}, deployment.parameters, 1, 1e15);
    line.number({"--weight-bits", "X", "bits of a parameter in memory"}, deployment.weight_bits,
                0.1, 64);
    line.number({"--kv-bytes", "X", "bytes of keys and values of a position"}, deployment.kv_bytes,
                0, 1e12);
    line.integer({"--batch", "N", "sequences that decode together"}, deployment.batch, 1, 1 << 20);
    line.number({"--prefill-share", "X", "of the arithmetic that prefill reaches"},
                deployment.prefill_share, 0.001, 1);
    line.number({"--decode-share", "X", "of the bandwidth that decode reaches"},
                deployment.decode_share, 0.001, 1);
    model.declare(line);
    add_common_options(line, common, "1");
  }
};

Error bad_length(const CommandLine& line, std::string_view word) {
  return line.wrong(fmt::format("--prompt: '{}' is no number from 2 to {}, and no range of two",
                                word.substr(0, 40), kMostPositions));
}

std::optional<int64_t> length_of(std::string_view word) {
  const auto number = parse_integer(word);
  return number && *number >= 2 && *number <= kMostPositions ? number : std::nullopt;
}

// "16..512" doubles, "16,100" lists; ascending, each once.
Result<std::vector<int64_t>> parse_lengths(const CommandLine& line, std::string_view text) {
  std::vector<int64_t> lengths;
  for (bool is_last = false; !is_last;) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    const size_t dots = word.find("..");
    const auto first = length_of(word.substr(0, dots));
    const auto last = dots == std::string_view::npos ? first : length_of(word.substr(dots + 2));
    if (!first || !last || *first > *last) return bad_length(line, word);
    for (int64_t length = *first; length <= *last; length *= 2) lengths.push_back(length);
    is_last = comma == std::string_view::npos;
    if (!is_last) text.remove_prefix(comma + 1);
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  if (lengths.size() > kMostLengths) {
    return line.wrong(
        fmt::format("--prompt: {} lengths, at most {}", lengths.size(), kMostLengths));
  }
  return lengths;
}

// One line on a terminal, drawn over; nothing elsewhere.
class ProgressBar {
 public:
  ProgressBar(bool is_quiet, int64_t rounds)
      : is_shown_(!is_quiet && is_terminal(STDERR_FILENO)), rounds_(rounds) {}
  ~ProgressBar() {
    if (is_shown_) fmt::print(stderr, "\r\x1b[K");
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(const probe::PhasesProgress& now) const {
    if (!is_shown_) return;
    constexpr int64_t kCells = 30;
    std::string bar;
    for (int64_t i = 0; i < kCells; ++i) bar += i < now.done * kCells / now.total ? "█" : "░";
    const std::string what =
        now.round == 0 ? std::string("warm-up")
                       : fmt::format("round {} of {}: prompt {}", now.round, rounds_, now.prompt);
    fmt::print(stderr, "\r\x1b[K{} {}", bar, what);
    std::fflush(stderr);
  }

 private:
  bool is_shown_;
  int64_t rounds_;
};

bool is_same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

Result<probe::Hardware> this_machine(const CommonOptions& common) {
  const base::SteadyClock clock;
  PAWL_TRY(const probe::MachineLimits limits,
           probe::measure_machine(static_cast<int>(common.threads.value_or(0)), clock));
  return probe::Hardware{"here", limits.read_bytes_per_s, limits.int8_operations_per_s,
                         "int8 products, dense", "measured on this machine just now"};
}

// One of the built-in machines, all of them and this one, or those of a file.
Result<std::vector<probe::Hardware>> find_hardware(const CommandLine& line,
                                                   const PhasesFlags& flags) {
  const std::string& wanted = *flags.hardware;
  PAWL_TRY(std::vector<probe::Hardware> known, probe::parse_hardware(kHardwareJson));
  const bool is_all = is_same_name(wanted, "all"), is_here = is_same_name(wanted, "here");
  if (is_all || is_here) {
    PAWL_TRY(const probe::Hardware here, this_machine(flags.common));
    if (is_here) return std::vector{here};
    known.push_back(here);
    return known;
  }
  std::string names = "all, here";
  for (const probe::Hardware& machine : known) {
    if (is_same_name(wanted, machine.name)) return std::vector{machine};
    names += ", " + machine.name;
  }
  const bool is_file = wanted.find('/') != std::string::npos || wanted.ends_with(".json");
  if (!is_file) {
    return line.wrong(
        fmt::format("--hardware: '{}' is no file and none of {}", wanted.substr(0, 40), names));
  }
  PAWL_TRY(const std::string text, read_text(wanted));
  auto machines = probe::parse_hardware(text);
  if (!machines.ok()) machines.error().where = wanted;
  return machines;
}

Result<ExitStatus> count(const CommandLine& line, const PhasesFlags& flags) {
  RooflineReport report;
  report.deployment = flags.deployment;
  // The default is of the default model; of another one nothing is known.
  const bool is_other = line.was_given("--params") && !line.was_given("--kv-bytes");
  if (is_other) report.deployment.kv_bytes = 0;
  report.prompts = {kHardwarePrompt};
  if (flags.prompts) {
    PAWL_TRY(report.prompts, parse_lengths(line, *flags.prompts));
  }
  PAWL_TRY(report.machines, find_hardware(line, flags));
  if (flags.common.is_json) {
    fmt::print("{}\n", roofline_json(report).dump());
  } else {
    print_roofline(report);
    if (is_other) fmt::print("keys and values are left out: --kv-bytes was not given\n");
  }
  return roofline_holds(report) ? ExitStatus::kDone : ExitStatus::kVerdictFailed;
}

Result<ExitStatus> measure(const CommandLine& line, const PhasesFlags& flags) {
  probe::PhasesOptions options;
  options.steps = flags.steps;
  options.rounds = static_cast<int>(flags.rounds);
  options.seed = flags.common.seed.value_or(kDefaultSeed);
  if (flags.prompts) {
    PAWL_TRY(options.prompts, parse_lengths(line, *flags.prompts));
  }
  const base::SteadyClock clock;
  const InterruptWatch interrupt;
  PAWL_TRY(const ModelSession session,
           ModelSession::open(flags.common, false, clock, interrupt.token(), flags.model));
  const int64_t room = session.runtime->model()->config().context_length - options.steps - 1;
  if (!flags.prompts && room >= 2) {
    std::erase_if(options.prompts, [&](int64_t length) { return length > room; });
    if (options.prompts.empty()) options.prompts = {room};
  }
  Result<probe::PhasesSamples> samples = [&] {
    const ProgressBar progress(flags.common.is_quiet, flags.rounds);
    return probe::measure_phases(*session.runtime, options, clock, interrupt.token(),
                                 [&](const probe::PhasesProgress& now) { progress.update(now); });
  }();
  if (!samples.ok()) return samples.error();
  const probe::PhasesAnalysis analysis = probe::analyse(*samples, options.seed);
  const PhasesReport report{session, options, *samples, analysis};
  if (flags.common.is_json) {
    fmt::print("{}\n", phases_json(report).dump());
  } else {
    print_phases(report);
  }
  return analysis.holds() ? ExitStatus::kDone : ExitStatus::kVerdictFailed;
}

}  // namespace

Result<ExitStatus> phases_command(const Arguments& arguments) {
  CommandLine line(kPhasesHelp);
  PhasesFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  if (flags.hardware) return count(line, flags);
  for (const char* flag : {"--params", "--weight-bits", "--kv-bytes", "--batch", "--prefill-share",
                           "--decode-share"}) {
    if (line.was_given(flag)) {
      return line.wrong(
          fmt::format("{} is about a machine that is not here: it needs --hardware", flag));
    }
  }
  return measure(line, flags);
}

}  // namespace pawl::cli
