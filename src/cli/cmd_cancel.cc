// SPDX-License-Identifier: Apache-2.0
// pawl cancel: what leaving a stream saves, and what it takes to get the end of an answer.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/endpoint_flags.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "lab/cancel_check.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Result;
using lab::CancelResult;
using lab::Outcome;

const CommandHelp kCancelHelp = {
    "cancel",
    "Leaves a stream after some tokens: what landed, what the server decoded, what is saved.",
    "pawl cancel --url http://127.0.0.1:8080 --after 30 --of 80", "--url URL [options]"};

namespace {

struct CancelFlags {
  EndpointFlags server;
  lab::CancelOptions options;
  bool is_json = false, is_quiet = false, has_timing_only = false;

  void declare(CommandLine& line) {
    options.prompt = "Tell a long story about a lighthouse and the people who keep it.";
    server.declare(line);
    line.group("What to do");
    line.integer({"--after", "K", "tokens after which the stream is left"}, options.after, 1,
                 1'000'000);
    line.integer({"--of", "N", "tokens of the whole answer"}, options.of, 2, 10'000'000);
    line.text({"-p,--prompt", "TEXT", "what is asked"}, options.prompt);
    line.integer({"--step", "N", "tokens that may still be decoded after the leaving: two steps"},
                 options.step_tokens, 0, 100'000);
    line.number({"--patience", "S", "seconds that a server has to notice"}, options.patience_s, 0,
                86'400);
    line.flag({"--timing-only", "", "asks the server nothing: what times alone can tell"},
              has_timing_only);
    line.group("Common");
    line.flag({"--json", "", "prints one JSON document on standard output, nothing else"}, is_json);
    line.flag({"--quiet", "", "no notes and no progress on standard error"}, is_quiet);
  }
};

std::string_view mark_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kHolds:
      return "✓";
    case Outcome::kFails:
      return "✗";
    case Outcome::kUnverified:
      return "?";
  }
  return "?";
}

// The beginning of a text on one line, at most `bytes` of it, whole characters.
std::string beginning(std::string_view text, size_t bytes) {
  std::string_view start = text.substr(0, bytes);
  start = start.substr(0, base::utf8_valid_prefix(start));
  return visible(start) + (start.size() < text.size() ? "…" : "");
}

std::string shown(const std::optional<int64_t>& count) {
  return count ? grouped(*count) : "not told";
}

void print_routes(const CancelResult& result) {
  constexpr size_t kTextBytes = 60;
  fmt::print("\nThe tokens after {} of {}, by every route\n", result.after, result.whole_tokens);
  fmt::print("  {:10} {:>8} {:>8} {:>8} {:>9}  {:10}  {}\n", "route", "prompt", "decoded", "passes",
             "seconds", "prefix", "text");
  for (const lab::SuffixRoute& route : result.routes) {
    fmt::print("  {:10} {:>8} {:>8} {:>8} {:>9.2f}  {:10}  {}\n", route.name,
               shown(route.prompt_tokens), shown(route.decoded_tokens), shown(route.forward_passes),
               route.ms / 1000, route.prompt_sha256.substr(0, 8),
               beginning(route.text, kTextBytes));
  }
  fmt::print(
      "  whole: from the prompt. direct: asked for the end alone. continued: its beginning given\n"
      "  as a part of the prompt, which nobody has who did not decode it before.\n");
}

void print_result(const CancelResult& result) {
  fmt::print("{} at {}", result.conditions.answered_model, result.conditions.endpoint);
  if (!result.facts.server.empty()) {
    fmt::print(" ({} {})", result.facts.server, result.facts.version);
  }
  fmt::print("\n\n  {:12} {:>8} tokens  counted as they landed ({})\n", "landed",
             grouped(result.landed), result.landed_source);
  if (result.decoded) {
    fmt::print("  {:12} {:>8} tokens  {}by the server's {}\n", "decoded", grouped(*result.decoded),
               result.is_decoded_bound ? "at most, " : "", decoded_source_name(result.source));
  }
  const auto seconds = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.2f} s", *value) : std::string("no time known");
  };
  if (result.saved_tokens) {
    fmt::print("  {:12} {:>8} tokens  {} at {:.2f} ms per token\n", "saved",
               grouped(*result.saved_tokens), seconds(result.saved_s),
               result.ms_per_token.value_or(0));
  }
  if (result.unverified_tokens > 0) {
    fmt::print("  {:12} {:>8} tokens  up to {}: the server may still be computing\n", "unverified",
               grouped(result.unverified_tokens), seconds(result.unverified_s));
  }
  print_routes(result);
  fmt::print("\n");
  for (const lab::CancelVerdict& verdict : result.verdicts) {
    fmt::print("{} {:8} {}\n", mark_of(verdict.outcome), verdict.name, verdict.reason);
  }
}

}  // namespace

Result<ExitStatus> cancel_command(const Arguments& arguments) {
  CommandLine line(kCancelHelp);
  CancelFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  if (flags.options.after >= flags.options.of) {
    return line.wrong(
        fmt::format("--after {} leaves nothing of --of {}", flags.options.after, flags.options.of));
  }
  if (flags.has_timing_only) flags.options.uses_records = flags.options.uses_metrics = false;

  const InterruptWatch interrupt;
  const base::SteadyClock clock;
  PAWL_TRY(const lab::Endpoint endpoint, flags.has_timing_only
                                             ? flags.server.endpoint()
                                             : flags.server.ask_endpoint(flags.is_quiet, clock));
  const auto progress = [&](std::string_view text) { note(flags.is_quiet, text); };
  auto checked = lab::check_cancel(endpoint, flags.options, clock, progress,
                                   [&] { return interrupt.has_stopped(); });
  if (!checked.ok()) return std::move(checked).error();
  CancelResult& result = *checked;
  result.conditions.client_version = kVersion;
  if (flags.is_json) {
    fmt::print("{}\n", lab::cancel_json(result).dump());
  } else {
    print_result(result);
  }
  return result.has_failed() ? ExitStatus::kVerdictFailed : ExitStatus::kDone;
}

}  // namespace pawl::cli
