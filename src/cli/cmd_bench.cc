// SPDX-License-Identifier: Apache-2.0
// pawl bench: how fast the model computes here, and how near that is to what the machine can do.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/json.h"
#include "cli/command.h"
#include "cli/model_session.h"
#include "cli/terminal.h"
#include "model/model.h"
#include "probe/bench.h"

namespace pawl::cli {

using base::Json;
using base::Result;

const CommandHelp kBenchHelp = {
    "bench", "Measures how fast a model computes, beside what this machine can do at most.",
    "pawl bench -p 128 -n 16 -b 1,4 -r 3", "[options]"};

namespace {

constexpr int64_t kMostPositions = 1 << 24;
constexpr int64_t kMostBatch = 256;
constexpr uint64_t kDefaultSeed = 1;

struct BenchFlags {
  std::string prompts = "512";
  int64_t steps = 128;
  std::string depths = "0";
  std::string batches = "1,8";
  bool is_greedy = false;
  int64_t repetitions = 5;
  ModelFlags model;
  CommonOptions common;

  void declare(CommandLine& line) {
    line.group("What to measure (lists: numbers with commas between)");
    line.text({"-p,--prompt", "LIST", "prefill: positions of a prompt; 0: none"}, prompts);
    line.integer({"-n,--tokens", "N", "decode: steps of one token per sequence; 0: none"}, steps, 0,
                 kMostPositions);
    line.text({"-d,--depth", "LIST", "positions that are in the cache before"}, depths);
    line.text({"-b,--batch", "LIST", "decode: sequences that run together"}, batches);
    line.flag({"--greedy", "",
               "decode: of each row of logits the largest alone, which is read next, "
               "as a greedy answer needs it"},
              is_greedy);
    line.integer(
        {"-r,--reps", "N", "repetitions, each a round over all rows; a warm-up is not counted"},
        repetitions, 1, 10000);
    model.declare(line);
    add_common_options(line, common, "1");
  }
};

Result<std::vector<int64_t>> parse_list(const CommandLine& line, std::string_view flag,
                                        std::string_view text, int64_t minimum, int64_t maximum) {
  std::vector<int64_t> numbers;
  for (bool is_last = false; !is_last;) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    const auto number = parse_integer(word);
    if (!number || *number < minimum || *number > maximum) {
      return line.wrong(fmt::format("{}: '{}' is no number from {} to {}", flag, word.substr(0, 40),
                                    minimum, maximum));
    }
    numbers.push_back(*number);
    is_last = comma == std::string_view::npos;
    if (!is_last) text.remove_prefix(comma + 1);
  }
  return numbers;
}

Result<probe::BenchOptions> options_of(const CommandLine& line, const BenchFlags& flags) {
  probe::BenchOptions options;
  PAWL_TRY(options.prompts, parse_list(line, "--prompt", flags.prompts, 0, kMostPositions));
  PAWL_TRY(options.depths, parse_list(line, "--depth", flags.depths, 0, kMostPositions));
  PAWL_TRY(options.batches, parse_list(line, "--batch", flags.batches, 1, kMostBatch));
  std::erase(options.prompts, 0);
  options.steps = flags.steps;
  options.greedy = flags.is_greedy;
  options.repetitions = static_cast<int>(flags.repetitions);
  options.seed = flags.common.seed.value_or(kDefaultSeed);
  if (options.prompts.empty() && options.steps == 0) {
    return line.wrong("nothing to measure: --prompt and --tokens are both 0");
  }
  return options;
}

Json row_json(const probe::BenchRow& row, const char* isa) {
  Json json;
  json["test"] = probe::case_name(row.shape.kind);
  json["tokens"] = row.shape.tokens;
  json["batch"] = row.shape.batch;
  json["depth"] = row.shape.depth;
  json["tok_s"]["median"] = row.tokens_per_s.median;
  json["tok_s"]["min"] = row.tokens_per_s.min;
  json["tok_s"]["max"] = row.tokens_per_s.max;
  json["bytes_per_token"] = row.bytes_per_token;
  json["operations_per_token"] = row.operations_per_token;
  json["GBps"] = row.bytes_per_s() * 1e-9;
  json["GOPS"] = row.operations_per_s() * 1e-9;
  json["read_GBps"] = row.limits.read_bytes_per_s * 1e-9;
  json["int8_GOPS"] = row.limits.int8_operations_per_s * 1e-9;
  json["limit"] = row.is_bound_by_reading ? "read" : "int8";
  json["of_limit"] = row.of_limit.median;
  if (row.shape.kind == probe::BenchCase::Kind::kGreedy) {
    json["whole_rows"] = row.whole_rows;
    json["exact_rows"] = row.exact_rows;
  }
  json["isa"] = isa;
  return json;
}

Json to_json(const ModelSession& session, const probe::BenchOptions& options,
             const probe::BenchReport& report) {
  const char* isa = session.runtime->kernels().name;
  Json document;
  document["model"] = session.name;
  Json& machine = document["machine"];
  machine["cpu"] = probe::cpu_name();
  machine["isa"] = isa;
  machine["threads"] = session.runtime->pool().threads();
  machine["read_GBps"] = report.limits.read_bytes_per_s * 1e-9;
  machine["best_read_GBps"] = report.best_read_bytes_per_s * 1e-9;
  machine["int8_GOPS"] = report.limits.int8_operations_per_s * 1e-9;
  document["kv_type"] = kernels::kv_type_name(session.runtime->kv_type());
  document["adapters"] = session.adapters_json();
  document["repetitions"] = options.repetitions;
  document["seed"] = options.seed;
  document["rows"] = Json::array();
  for (const probe::BenchRow& row : report.rows) {
    document["rows"].push_back(row_json(row, isa));
  }
  return document;
}

void print_table(const ModelSession& session, const probe::BenchReport& report) {
  fmt::print("{} · {} · {} threads · {} · keys and values {}{}\n", session.name,
             probe::cpu_name().value_or("a processor without a name"),
             session.runtime->pool().threads(), session.runtime->kernels().name,
             kernels::kv_type_name(session.runtime->kv_type()),
             session.adapters.empty() ? "" : " · with adapters");
  fmt::print("limits measured here: reads {:.1f} GB/s (at best {:.1f}) · int8 {:.0f} GOP/s\n\n",
             report.limits.read_bytes_per_s * 1e-9, report.best_read_bytes_per_s * 1e-9,
             report.limits.int8_operations_per_s * 1e-9);
  fmt::print("{:8} {:>7} {:>6} {:>7} {:>10} {:>10} {:>10} {:>9} {:>7} {:>7}  {}\n", "test",
             "tokens", "batch", "depth", "tokens/s", "min", "max", "MB/token", "GB/s", "GOP/s",
             "of the limit");
  for (const probe::BenchRow& row : report.rows) {
    fmt::print("{:8} {:>7} {:>6} {:>7} {:>10.1f} {:>10.1f} {:>10.1f} {:>9.2f} {:>7.2f} {:>7.1f}",
               probe::case_name(row.shape.kind), row.shape.tokens, row.shape.batch, row.shape.depth,
               row.tokens_per_s.median, row.tokens_per_s.min, row.tokens_per_s.max,
               row.bytes_per_token * 1e-6, row.bytes_per_s() * 1e-9, row.operations_per_s() * 1e-9);
    fmt::print("  {:3.0f} % of {}\n", row.of_limit.median * 100,
               row.is_bound_by_reading ? "reading" : "int8");
    if (row.shape.kind != probe::BenchCase::Kind::kGreedy) continue;
    fmt::print("{:8} of a row's logits {:.0f} in full; the whole row in {:.1f} % of the passes\n",
               "", row.exact_rows, 100 * row.whole_rows);
  }
}

// One line on a terminal, drawn over; nothing elsewhere.
class ProgressLine {
 public:
  ProgressLine(bool is_quiet, int repetitions)
      : is_shown_(!is_quiet && is_terminal(STDERR_FILENO)), repetitions_(repetitions) {}
  ~ProgressLine() {
    if (is_shown_) fmt::print(stderr, "\r\x1b[K");
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(const probe::BenchProgress& progress) const {
    if (!is_shown_) return;
    const std::string round = progress.round == 0
                                  ? "warm-up"
                                  : fmt::format("round {} of {}", progress.round, repetitions_);
    fmt::print(stderr, "\r\x1b[K{}: {} of {} tokens, batch {}, depth {}", round,
               probe::case_name(progress.shape->kind), progress.shape->tokens,
               progress.shape->batch, progress.shape->depth);
    std::fflush(stderr);
  }

 private:
  bool is_shown_;
  int repetitions_;
};

}  // namespace

Result<ExitStatus> bench_command(const Arguments& arguments) {
  CommandLine line(kBenchHelp);
  BenchFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  PAWL_TRY(const probe::BenchOptions options, options_of(line, flags));
  const base::SteadyClock clock;
  const InterruptWatch interrupt;
  PAWL_TRY(const ModelSession session,
           ModelSession::open(flags.common, false, clock, interrupt.token(), flags.model));
  Result<probe::BenchReport> report = [&] {
    const ProgressLine progress(flags.common.is_quiet, options.repetitions);
    return probe::bench(*session.runtime, options, clock, interrupt.token(),
                        [&](const probe::BenchProgress& now) { progress.update(now); });
  }();
  if (!report.ok()) return report.error();
  if (flags.common.is_json) {
    fmt::print("{}\n", to_json(session, options, *report).dump());
  } else {
    print_table(session, *report);
  }
  return ExitStatus::kDone;
}

}  // namespace pawl::cli
