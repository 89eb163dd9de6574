// SPDX-License-Identifier: Apache-2.0
// pawl run: text out of a prompt, streamed, and at the end where the time went.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "base/json.h"
#include "cli/command.h"
#include "cli/model_session.h"
#include "cli/policy_flags.h"
#include "cli/terminal.h"
#include "engine/engine.h"
#include "model/model.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

const CommandHelp kRunHelp = {"run",
                              "Continues a text, token by token, and streams it as it comes.",
                              "pawl run -p \"The sea is\" -n 32", "-p TEXT [options]"};

namespace {

struct RunFlags {
  PromptFlags prompt;
  PolicyFlags policy;
  int64_t max_tokens = 128;
  std::vector<std::string> stops;
  bool is_reference = false;
  bool is_chat = false;
  CommonOptions common;

  void declare(CommandLine& line) {
    prompt.declare(line);
    line.group("Generation");
    line.integer({"-n,--max-tokens", "N", "output tokens at most"}, max_tokens, 1, 1 << 30);
    line.texts({"--stop", "TEXT", "ends before this text; repeatable"}, stops);
    line.flag({"--reference", "", "float32 activations and the scalar kernels: slow and exact"},
              is_reference);
    line.flag({"--chat", "", "applies the model's chat template (not there yet)"}, is_chat);
    policy.declare(line);
    add_common_options(line, common);
  }
};

// One generation while it runs: prints what comes, keeps all of it.
class RunSink final : public engine::EventSink {
 public:
  RunSink(bool prints, bool keeps_logprobs) : prints_(prints), keeps_logprobs_(keeps_logprobs) {}

  void on_delta(const engine::Delta& delta) override {
    ids_.push_back(delta.id);
    if (delta.choice != nullptr && keeps_logprobs_) keep_logprob(*delta.choice);
    if (!delta.text.empty() && first_text_ns_ == 0) first_text_ns_ = delta.stamp_ns;
    add_text(delta.text);
  }

  void on_finished(const engine::Finished& finished) override {
    add_text(finished.text);
    finished_ = finished;
  }

  const std::vector<base::TokenId>& ids() const { return ids_; }
  const Json& logprobs() const { return logprobs_; }  // [{id, logprob, top[{id, logprob}]}]
  const std::string& text() const { return text_; }
  const engine::Finished& finished() const { return finished_; }
  int64_t first_text_ns() const { return first_text_ns_; }  // 0: no text came

 private:
  void keep_logprob(const policy::Choice& choice) {
    Json row;
    row["id"] = int64_t{choice.id};
    row["logprob"] = choice.logprob;
    row["top"] = Json::array();
    for (const auto& [id, logprob] : choice.top) {
      Json entry;
      entry["id"] = int64_t{id};
      entry["logprob"] = logprob;
      row["top"].push_back(std::move(entry));
    }
    logprobs_.push_back(std::move(row));
  }

  void add_text(std::string_view text) {
    text_ += text;
    if (!prints_ || text.empty()) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  bool prints_;
  bool keeps_logprobs_;
  std::vector<base::TokenId> ids_;
  Json logprobs_ = Json::array();
  std::string text_;
  engine::Finished finished_;
  int64_t first_text_ns_ = 0;
};

// Milliseconds of one generation; nothing where something did not happen.
struct RunTimes {
  double load_ms = 0;
  double tokenize_ms = 0;
  std::optional<double> prefill_ms;  // received → first token selected: the prompt is computed
  std::optional<double> decode_ms;   // first token → last token
  std::optional<double> ttft_ms;     // received → first text
  double total_ms = 0;               // received → finished
  std::optional<double> tokens_per_second;  // (tokens - 1) / decode
  std::optional<double>
      prompt_tokens_per_output_token;  // time per output token / time per prompt token
};

bool wants_logprobs(const policy::Policy& policy) {
  return policy.logprobs || policy.top_logprobs > 0;
}

RunTimes times_of(const RunSink& sink, double load_ms, double tokenize_ms) {
  const engine::Timeline& line = sink.finished().timeline;
  const engine::Usage& usage = sink.finished().usage;
  RunTimes times{load_ms, tokenize_ms, {}, {}, {}, ms_between(line.received_ns, line.finished_ns),
                 {},      {}};
  if (line.first_token_ns == 0) return times;
  times.prefill_ms = ms_between(line.received_ns, line.first_token_ns);
  if (sink.first_text_ns() != 0) {
    times.ttft_ms = ms_between(line.received_ns, sink.first_text_ns());
  }
  if (usage.completion_tokens < 2) return times;
  times.decode_ms = ms_between(line.first_token_ns, line.last_token_ns);
  const double per_token = *times.decode_ms / static_cast<double>(usage.completion_tokens - 1);
  const auto computed = static_cast<double>(usage.prompt_tokens - usage.cached_tokens);
  if (per_token > 0) times.tokens_per_second = 1000 / per_token;
  if (*times.prefill_ms > 0) {
    times.prompt_tokens_per_output_token = per_token / (*times.prefill_ms / computed);
  }
  return times;
}

std::string shown_ms(double ms) {
  return ms < 9.95 ? fmt::format("{:.1f} ms", ms) : grouped(static_cast<int64_t>(ms + 0.5)) + " ms";
}

std::string summary_line(const RunSink& sink, const RunTimes& times) {
  const engine::Usage& usage = sink.finished().usage;
  std::string line = fmt::format("{} prompt tokens", grouped(usage.prompt_tokens));
  if (times.prefill_ms) line += " in " + shown_ms(*times.prefill_ms);
  line += fmt::format(" · {} output token{}", grouped(usage.completion_tokens),
                      usage.completion_tokens == 1 ? "" : "s");
  if (times.decode_ms) line += " in " + shown_ms(*times.decode_ms);
  if (times.tokens_per_second) line += fmt::format(" ({:.1f}/s)", *times.tokens_per_second);
  if (times.ttft_ms) line += " · first token after " + shown_ms(*times.ttft_ms);
  if (times.prompt_tokens_per_output_token) {
    line += fmt::format(" · one output token cost as much as {:.1f} prompt tokens",
                        *times.prompt_tokens_per_output_token);
  }
  return line;
}

Json to_json(const ModelSession& session, const Prompt& prompt, const policy::Policy& policy,
             const RunSink& sink, const RunTimes& times) {
  const engine::Finished& finished = sink.finished();
  Json document;
  document["model"] = session.name;
  document["prompt_ids"] = Json::array_of({prompt.ids.begin(), prompt.ids.end()});
  document["output_ids"] = Json::array_of({sink.ids().begin(), sink.ids().end()});
  document["text"] = sink.text();
  if (wants_logprobs(policy)) document["logprobs"] = sink.logprobs();
  document["finish_reason"] = engine::finish_reason_name(finished.reason);
  document["stop_string"] = finished.stop_string.empty() ? Json() : Json(finished.stop_string);
  document["seed"] = policy.seed;
  Json& usage = document["usage"];
  usage["prompt_tokens"] = finished.usage.prompt_tokens;
  usage["cached_tokens"] = finished.usage.cached_tokens;
  usage["completion_tokens"] = finished.usage.completion_tokens;
  usage["forward_passes"] = finished.usage.forward_passes;
  Json& timings = document["timings"];
  timings["load_ms"] = times.load_ms;
  timings["tokenize_ms"] = times.tokenize_ms;
  timings["prefill_ms"] = times.prefill_ms;
  timings["decode_ms"] = times.decode_ms;
  timings["ttft_ms"] = times.ttft_ms;
  timings["total_ms"] = times.total_ms;
  timings["tokens_per_second"] = times.tokens_per_second;
  timings["prompt_tokens_per_output_token"] = times.prompt_tokens_per_output_token;
  return document;
}

// Runs one prompt to its end and tells it. kInterrupted when it was stopped.
Result<ExitStatus> generate(ModelSession& session, const Prompt& prompt,
                            const policy::Policy& policy, const RunFlags& flags,
                            const base::Clock& clock, const std::stop_token& stop) {
  engine::EngineLimits limits;
  const auto wanted = static_cast<int64_t>(prompt.ids.size()) + flags.max_tokens;
  limits.context = std::min(wanted, session.runtime->model()->config().context_length);
  limits.max_sequences = 1;
  PAWL_TRY(const auto engine, engine::Engine::create(*session.runtime, limits, clock));
  RunSink sink(!flags.common.is_json, wants_logprobs(policy));
  engine::Request request;
  request.prompt = prompt.ids;
  request.policy = policy;
  request.stops = {flags.stops, flags.max_tokens};
  request.stop_token = stop;
  request.sink = &sink;
  request.received_ns = clock.now_ns();
  PAWL_TRY_VOID(engine->submit(std::move(request)));
  engine->run_until_idle();

  const engine::Finished& finished = sink.finished();
  if (finished.reason == engine::FinishReason::kError) {
    return Error{ErrorCode::kUnsupported, finished.error, ""};
  }
  const RunTimes times = times_of(sink, session.load_ms, prompt.tokenize_ms);
  if (flags.common.is_json) {
    fmt::print("{}\n", to_json(session, prompt, policy, sink, times).dump());
  } else {
    if (!sink.text().ends_with('\n')) fmt::print("\n");
    std::fflush(stdout);
    note(flags.common.is_quiet, summary_line(sink, times));
  }
  return finished.reason == engine::FinishReason::kCancelled ? ExitStatus::kInterrupted
                                                             : ExitStatus::kDone;
}

// A line from the terminal, or nothing at its end or when interrupted.
std::optional<std::string> read_line(const std::stop_token& stop) {
  constexpr int kTickMs = 100;
  pollfd ready{STDIN_FILENO, POLLIN, 0};
  while (::poll(&ready, 1, kTickMs) == 0) {
    if (stop.stop_requested()) return std::nullopt;
  }
  std::string text;
  if (!std::getline(std::cin, text)) return std::nullopt;
  return text;
}

// Prompt after prompt, each by itself: a base model continues a text, it holds no conversation.
Result<ExitStatus> run_interactively(ModelSession& session, const policy::Policy& policy,
                                     const RunFlags& flags, const base::Clock& clock,
                                     const std::stop_token& stop) {
  note(flags.common.is_quiet,
       fmt::format("{}: each line is a text to continue; Ctrl-D ends", session.name));
  for (;;) {
    fmt::print(stderr, "> ");
    const auto text = read_line(stop);
    if (!text) {
      fmt::print(stderr, "\n");
      return stop.stop_requested() ? ExitStatus::kInterrupted : ExitStatus::kDone;
    }
    if (text->empty()) continue;
    PAWL_TRY(const Prompt prompt,
             tokenize_prompt(*text, flags.prompt.has_no_bos, *session.runtime, clock));
    PAWL_TRY(const ExitStatus status, generate(session, prompt, policy, flags, clock, stop));
    if (status != ExitStatus::kDone) return status;
  }
}

}  // namespace

Result<ExitStatus> run_command(const Arguments& arguments) {
  CommandLine line(kRunHelp);
  RunFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  if (flags.is_chat) {
    return Error{ErrorCode::kUnsupported, "chat templates are not there yet; run continues a text",
                 "--chat"};
  }
  const bool is_interactive = !flags.prompt.is_given() && is_terminal(STDIN_FILENO);
  if (!flags.prompt.is_given() && !is_interactive) {
    return line.wrong("--prompt is missing; --file - reads standard input");
  }
  if (is_interactive && flags.common.is_json) return line.wrong("--json needs --prompt");
  PAWL_TRY(const policy::Policy policy, flags.policy.policy(line, flags.common.seed));
  if (wants_logprobs(policy) && !flags.common.is_json) {
    return line.wrong("--logprobs and --top-logprobs show in the JSON only; add --json");
  }
  const base::SteadyClock clock;
  const InterruptWatch interrupt;
  PAWL_TRY(ModelSession session,
           ModelSession::open(flags.common, flags.is_reference, clock, interrupt.token()));
  if (is_interactive) {
    return run_interactively(session, policy, flags, clock, interrupt.token());
  }
  PAWL_TRY(const Prompt prompt, read_prompt(line, flags.prompt, *session.runtime, clock));
  return generate(session, prompt, policy, flags, clock, interrupt.token());
}

}  // namespace pawl::cli
