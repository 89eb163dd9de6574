// SPDX-License-Identifier: Apache-2.0
// pawl trace: a generation, and for each forward pass a line that lets anybody compute it again.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/json.h"
#include "base/pending_file.h"
#include "cli/command.h"
#include "cli/model_session.h"
#include "cli/policy_flags.h"
#include "cli/terminal.h"
#include "cli/trace_report.h"
#include "cli/traced_run.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

const CommandHelp kTraceHelp = {
    "trace",
    "Generates, and writes one JSON line for each forward pass that can be computed again.",
    "pawl trace -p \"The sea is\" -n 8 --greedy --out t.jsonl", "-p TEXT [options]"};

namespace {

struct TraceFlags {
  PromptFlags prompt;
  PolicyFlags policy;
  int64_t max_tokens = 32;
  std::vector<std::string> stops;
  std::optional<std::string> out, report;
  int64_t top = 5;
  bool is_reference = false;
  ModelFlags model;
  CommonOptions common;

  void declare(CommandLine& line) {
    prompt.declare(line);
    line.group("Generation");
    line.integer({"-n,--max-tokens", "N", "output tokens at most"}, max_tokens, 1, 1 << 30);
    line.texts({"--stop", "TEXT", "ends before this text; repeatable"}, stops);
    line.flag({"--reference", "", "float32 activations and the scalar kernels: slow and exact"},
              is_reference);
    line.group("What is written");
    line.text({"--out", "F.jsonl", "the trace's file, in place of standard output"}, out);
    line.text(
        {"--report", "F.html", "also a page for a browser; without --out instead of the lines"},
        report);
    line.integer({"--top", "N", "entries of each row"}, top, 1, 1000);
    policy.declare(line);
    model.declare(line);
    add_common_options(line, common, "drawn, and written in the trace");
  }
};

// Where lines go: a file that is there when the trace is whole, or standard output; and what a page
// is made of.
class LineOutput {
 public:
  static Result<LineOutput> create(const TraceFlags& flags) {
    LineOutput output;
    output.has_report_ = flags.report.has_value();
    const std::optional<std::string>& path = flags.out;
    if (!path) return output;
    PAWL_TRY(base::PendingFile file,
             base::PendingFile::create(*path + ".tmp", base::PendingFile::Unfinished::kRemove));
    output.file_.emplace(std::move(file));
    output.path_ = *path;
    return output;
  }

  Result<void> write(std::string_view line) {
    const std::string text = std::string(line) + '\n';
    if (has_report_) kept_ += text;
    if (file_) return file_->write(std::as_bytes(std::span(text)));
    if (has_report_) return {};
    const bool is_written =
        std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (is_written) return {};
    return Error{ErrorCode::kIo, std::string("cannot write: ") + std::strerror(errno),
                 "standard output"};
  }

  const std::string& kept() const { return kept_; }  // the lines, where there is to be a page

  Result<void> finish() { return file_ ? file_->commit(path_) : Result<void>(); }

 private:
  LineOutput() = default;
  std::optional<base::PendingFile> file_;
  std::string path_;
  bool has_report_ = false;
  std::string kept_;
};

// Counts on a terminal.
class TraceSink final : public engine::EventSink {
 public:
  TraceSink(bool is_quiet, int64_t most)
      : is_shown_(!is_quiet && is_terminal(STDERR_FILENO)), most_(most) {}

  void on_delta(const engine::Delta&) override {
    if (is_shown_) fmt::print(stderr, "\r\x1b[Ktoken {} of {}", ++count_, most_);
  }
  void on_finished(const engine::Finished&) override {
    if (is_shown_) fmt::print(stderr, "\r\x1b[K");
  }

 private:
  bool is_shown_;
  int64_t most_;
  int64_t count_ = 0;
};

void tell(const TraceFlags& flags, const TracedRun& run) {
  const probe::TraceEnd& end = run.counts;
  if (flags.common.is_json) {
    Json document;
    document["out"] = flags.out;
    document["report"] = flags.report;
    document["passes"] = end.passes;
    document["prefill_passes"] = end.prefill_passes;
    document["selected"] = end.selected;
    document["finish_reason"] = end.finish_reason;
    document["trace_share_of_decode"] = run.share_of_decode;
    document["trace_cpu_share_of_decode"] = run.cpu_share_of_decode;
    fmt::print("{}\n", document.dump());
    return;
  }
  std::string line = fmt::format("{} passes: {} over the prompt, {} of one token · {} selected",
                                 grouped(end.passes), grouped(end.prefill_passes),
                                 grouped(end.passes - end.prefill_passes), grouped(end.selected));
  if (const auto share = run.share_of_decode) {
    line += fmt::format(" · tracing took {:.1f} % of the decode time", *share * 100);
  }
  note(flags.common.is_quiet, line);
}

Result<ExitStatus> trace(ModelSession& session, const Prompt& prompt, const policy::Policy& policy,
                         const TraceFlags& flags, const base::Clock& clock,
                         const std::stop_token& stop) {
  PAWL_TRY(const probe::TraceHeader header, trace_header(session, prompt, policy));
  PAWL_TRY(LineOutput output, LineOutput::create(flags));
  TraceSink sink(flags.common.is_quiet, flags.max_tokens);
  const TracedRequest wanted{flags.max_tokens, flags.stops, static_cast<int>(flags.top), stop};
  PAWL_TRY(const TracedRun run,
           run_traced(session, header, wanted, clock, sink,
                      [&](std::string_view line) { return output.write(line); }));
  PAWL_TRY_VOID(output.finish());
  if (flags.report) {
    PAWL_TRY(const probe::Trace written, probe::parse_trace(output.kept()));
    PAWL_TRY_VOID(write_trace_page(written, *flags.report));
  }
  if (run.finished.reason == engine::FinishReason::kError) {
    return Error{ErrorCode::kUnsupported, run.finished.error, ""};
  }
  tell(flags, run);
  return run.finished.reason == engine::FinishReason::kCancelled ? ExitStatus::kInterrupted
                                                                 : ExitStatus::kDone;
}

}  // namespace

Result<ExitStatus> trace_command(const Arguments& arguments) {
  CommandLine line(kTraceHelp);
  TraceFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  if (!flags.prompt.is_given()) {
    return line.wrong("--prompt is missing; --file - reads standard input");
  }
  if (flags.common.is_json && !flags.out && !flags.report) {
    return line.wrong("a trace is lines of JSON by itself; --json needs --out or --report");
  }
  PAWL_TRY(const policy::Policy policy, flags.policy.policy(line, flags.common.seed));
  const base::SteadyClock clock;
  const InterruptWatch interrupt;
  PAWL_TRY(ModelSession session, ModelSession::open(flags.common, flags.is_reference, clock,
                                                    interrupt.token(), flags.model));
  PAWL_TRY(const Prompt prompt, read_prompt(line, flags.prompt, *session.runtime, clock));
  return trace(session, prompt, policy, flags, clock, interrupt.token());
}

}  // namespace pawl::cli
