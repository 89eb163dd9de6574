// SPDX-License-Identifier: Apache-2.0
// pawl diverge: how soon greedy answers part when one early word of them is changed.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <set>

#include "base/digest.h"
#include "base/json.h"
#include "base/pending_file.h"
#include "cli/command.h"
#include "cli/diverge_report.h"
#include "cli/model_session.h"
#include "cli/prompt_input.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "probe/diverge_file.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

const CommandHelp kDivergeHelp = {
    "diverge", "Changes one early word of greedy answers and measures how soon they part.",
    "pawl diverge --n 8", "[options]"};

namespace {

constexpr uint64_t kDefaultSeed = 1;

struct DivergeFlags {
  std::optional<std::string> prompts;
  int64_t count = 200;
  int64_t within = kDefaultWithin;
  std::optional<std::string> out;
  ModelFlags model;
  CommonOptions common;

  void declare(CommandLine& line) {
    line.group("What to measure");
    line.text({"--prompts", "FILE", "prompts, one on each line, '-' for standard input",
               "200 that are built in"},
              prompts);
    line.integer({"-n,--n", "N", "prompts, from the first on"}, count, 1, 1'000'000);
    line.integer({"--within", "K", "tokens behind the changed word, for the answer in one number"},
                 within, 1, kMostWithin);
    line.text({"--out", "F.jsonl", "keeps each result; goes on from those that are there"}, out);
    model.declare(line);
    add_common_options(line, common, "1: which word is changed");
  }
};

Result<std::vector<std::string>> read_prompts(const DivergeFlags& flags) {
  if (!flags.prompts) return built_in_prompts();
  PAWL_TRY(const std::string text, read_text(*flags.prompts));
  auto prompts = lines_of(text);
  if (prompts.empty()) return Error{ErrorCode::kBadFile, "no prompt in it", *flags.prompts};
  return prompts;
}

std::string sha256_of(const std::vector<std::string>& prompts) {
  base::Sha256 digest;
  for (const std::string& prompt : prompts) {
    const std::string line = prompt + '\n';
    digest.update(std::as_bytes(std::span(line)));
  }
  return digest.finish_hex();
}

// What results must share to stand in one file.
Json header_of(const ModelSession& session, const std::string& model_sha256,
               const std::vector<std::string>& prompts, const probe::DivergeOptions& options) {
  Json header;
  header["pawl_diverge"] = probe::kDivergeSchema;
  header["pawl"] = kVersion;
  header["model"] = session.name;
  header["model_sha256"] = model_sha256;
  header["prompts_sha256"] = sha256_of(prompts);
  header["precision"] = "fast";
  header["kv_type"] = kernels::kv_type_name(session.runtime->kv_type());
  header["adapters"] = session.adapters_json();
  header["tokens"] = options.tokens;
  header["seed"] = options.seed;
  return header;
}

// The file of --out: what is in it, and lines added to it.
class ResultFile {
 public:
  static Result<ResultFile> open(const std::string& path, const Json& header,
                                 const text::Tokenizer& tokenizer) {
    const auto named = [&](Error error) {
      if (error.where.empty()) error.where = path;
      return error;
    };
    ResultFile result;
    bool is_new = !std::filesystem::exists(path);
    if (!is_new) {
      PAWL_TRY(const std::string text, read_text(path));
      auto parsed = probe::parse_diverge(text, header);
      if (!parsed.ok()) return named(parsed.error());
      result.found_ = std::move(parsed).value();
      is_new = text.find('\n') == std::string::npos;
      for (const auto& one : result.found_.cases) {
        for (const auto* ids : {&one.answer, &one.changed}) {
          for (const base::TokenId id : *ids) {
            auto known = tokenizer.vocab().check(id);
            if (!known.ok()) return named(known.error());
          }
        }
      }
    }
    PAWL_TRY(base::PendingFile file,
             base::PendingFile::resume(path, base::PendingFile::Unfinished::kKeep));
    result.file_.emplace(std::move(file));
    // A line that was cut off is dropped, by writing the others again.
    if (is_new || result.found_.is_cut) {
      PAWL_TRY_VOID(result.file_->restart());
      PAWL_TRY_VOID(result.put(header.dump()));
      for (const auto& one : result.found_.cases) PAWL_TRY_VOID(result.add(one, tokenizer));
    }
    return result;
  }

  const std::vector<probe::DivergeCase>& found() const { return found_.cases; }

  Result<void> add(const probe::DivergeCase& one, const text::Tokenizer& tokenizer) {
    return put(probe::case_line(one, tokenizer));
  }

 private:
  ResultFile() = default;
  Result<void> put(const std::string& line) {
    const std::string text = line + '\n';
    return file_->write(std::as_bytes(std::span(text)));
  }

  probe::DivergeFile found_;
  std::optional<base::PendingFile> file_;
};

// One line on a terminal, drawn over; nothing elsewhere.
class ProgressBar {
 public:
  ProgressBar(bool is_quiet, size_t before, size_t total, const base::Clock& clock)
      : is_shown_(!is_quiet && is_terminal(STDERR_FILENO)),
        before_(before),
        total_(total),
        clock_(clock),
        start_ns_(clock.now_ns()) {
    update(before);
  }
  ~ProgressBar() {
    if (is_shown_) fmt::print(stderr, "\r\x1b[K");
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(size_t done) const {
    if (!is_shown_) return;
    constexpr size_t kCells = 30;
    std::string bar;
    for (size_t i = 0; i < kCells; ++i) bar += i < done * kCells / total_ ? "█" : "░";
    std::string left;
    if (done > before_) {
      const double seconds = ms_between(start_ns_, clock_.now_ns()) / 1000 /
                             static_cast<double>(done - before_) *
                             static_cast<double>(total_ - done);
      left = fmt::format(" · {:.0f} s left", seconds);
    }
    fmt::print(stderr, "\r\x1b[K{} {} of {} prompts{}", bar, done, total_, left);
    std::fflush(stderr);
  }

 private:
  bool is_shown_;
  size_t before_, total_;
  const base::Clock& clock_;
  int64_t start_ns_;
};

// Those of `found` that are among the first `count` prompts, each once.
std::vector<probe::DivergeCase> wanted_of(const std::vector<probe::DivergeCase>& found,
                                          int64_t count) {
  std::vector<probe::DivergeCase> wanted;
  std::set<int64_t> seen;
  for (const auto& one : found) {
    if (one.prompt < count && seen.insert(one.prompt).second) wanted.push_back(one);
  }
  return wanted;
}

Result<ExitStatus> measure(ModelSession& session, const std::vector<std::string>& prompts,
                           const DivergeFlags& flags, const base::Clock& clock,
                           const std::stop_token& stop) {
  probe::DivergeOptions options;
  options.seed = flags.common.seed.value_or(kDefaultSeed);
  PAWL_TRY(const std::string model_sha256, sha256_of_file(session.path));
  const Json header = header_of(session, model_sha256, prompts, options);
  const text::Tokenizer& tokenizer = session.runtime->tokenizer();
  std::vector<probe::DivergeCase> cases;
  std::optional<ResultFile> file;
  const int64_t count = std::min(flags.count, static_cast<int64_t>(prompts.size()));
  if (flags.out) {
    PAWL_TRY(ResultFile opened, ResultFile::open(*flags.out, header, tokenizer));
    file.emplace(std::move(opened));
    cases = wanted_of(file->found(), count);
    if (!cases.empty()) {
      note(flags.common.is_quiet, fmt::format("{} prompts are done already", cases.size()));
    }
  }
  std::vector<int64_t> missing(static_cast<size_t>(count));
  std::iota(missing.begin(), missing.end(), 0);
  for (const auto& one : cases) std::erase(missing, one.prompt);

  Result<void> ended;
  {
    const ProgressBar progress(flags.common.is_quiet, cases.size(), static_cast<size_t>(count),
                               clock);
    ended = probe::diverge(*session.runtime, prompts, missing, options, clock, stop,
                           [&](const probe::DivergeCase& one) -> Result<void> {
                             cases.push_back(one);
                             progress.update(cases.size());
                             return file ? file->add(one, tokenizer) : Result<void>();
                           });
  }
  const bool is_interrupted = !ended.ok() && ended.error().code == ErrorCode::kCancelled;
  if (!ended.ok() && (!is_interrupted || cases.empty())) return ended.error();
  const DivergeOutcome outcome = diverge_outcome(cases, options.tokens);
  if (flags.common.is_json) {
    fmt::print("{}\n",
               diverge_json(session, header, outcome, flags.within, !is_interrupted).dump());
  } else {
    print_diverge(session, outcome, flags.within, options.tokens);
  }
  if (!is_interrupted) return ExitStatus::kDone;
  note(flags.common.is_quiet, fmt::format("interrupted after {} of {} prompts{}", cases.size(),
                                          count, flags.out ? "; the same command goes on" : ""));
  return ExitStatus::kInterrupted;
}

}  // namespace

Result<ExitStatus> diverge_command(const Arguments& arguments) {
  CommandLine line(kDivergeHelp);
  DivergeFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  PAWL_TRY(const std::vector<std::string> prompts, read_prompts(flags));
  const base::SteadyClock clock;
  const InterruptWatch interrupt;
  PAWL_TRY(ModelSession session,
           ModelSession::open(flags.common, false, clock, interrupt.token(), flags.model));
  return measure(session, prompts, flags, clock, interrupt.token());
}

}  // namespace pawl::cli
