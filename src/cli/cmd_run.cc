// SPDX-License-Identifier: Apache-2.0
// pawl run: text out of a prompt, streamed, and at the end where the time went. Without a prompt on
// a terminal: a conversation, or text after text with a model that has no chat template.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/json.h"
#include "cli/chat_prompt.h"
#include "cli/chat_session.h"
#include "cli/command.h"
#include "cli/format_flags.h"
#include "cli/generation.h"
#include "cli/line_input.h"
#include "cli/model_session.h"
#include "cli/policy_flags.h"
#include "cli/terminal.h"
#include "engine/engine.h"
#include "grammar/thinking.h"
#include "model/model.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

const CommandHelp kRunHelp = {"run",
                              "Continues a text or answers a message, token by token, as it comes.",
                              "pawl run -p \"The sea is\" -n 32", "[-p TEXT] [options]"};

namespace {

struct RunFlags {
  PromptFlags prompt;
  ChatFlags chat;
  PolicyFlags policy;
  FormatFlags format;
  std::optional<int64_t> max_tokens;
  int64_t context = 8192;
  std::vector<std::string> stops;
  bool is_reference = false;
  std::string draft = "none";
  ModelFlags model;
  CommonOptions common;

  void declare(CommandLine& line) {
    prompt.declare(line);
    chat.declare(line);
    line.group("Generation");
    line.integer({"-n,--max-tokens", "N", "output tokens at most",
                  "128; in a conversation what the context holds"},
                 max_tokens, 1, 1 << 30);
    line.integer({"--context", "N", "tokens of a conversation at most"}, context, 1, 1 << 30);
    line.texts({"--stop", "TEXT", "ends before this text; repeatable"}, stops);
    line.flag({"--reference", "", "float32 activations and the scalar kernels: slow and exact"},
              is_reference);
    line.text({"--draft", "KIND",
               "none, or lookup: guesses from the text so far are computed beside each token; "
               "faster where the text repeats itself, and never another token"},
              draft);
    policy.declare(line);
    format.declare(line);
    model.declare(line);
    add_common_options(line, common);
  }

  int draft_tokens() const { return draft == "lookup" ? engine::kDraftTokens : 0; }
  int64_t max_tokens_of_one() const { return max_tokens.value_or(128); }
};

bool wants_logprobs(const policy::Policy& policy) {
  return policy.logprobs || policy.top_logprobs > 0;
}

Json to_json(const ModelSession& session, const Prompt& prompt, const policy::Policy& policy,
             const GenerationSink& sink) {
  const engine::Finished& finished = sink.finished();
  const GenerationTimes times = times_of(sink);
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
  usage["forced_tokens"] = finished.usage.forced_tokens;
  usage["forward_passes"] = finished.usage.forward_passes;
  usage["drafted_tokens"] = finished.usage.drafted_tokens;
  usage["accepted_draft_tokens"] = finished.usage.accepted_draft_tokens;
  Json& timings = document["timings"];
  timings["load_ms"] = session.load_ms;
  timings["tokenize_ms"] = prompt.tokenize_ms;
  timings["prefill_ms"] = times.prefill_ms;
  timings["decode_ms"] = times.decode_ms;
  timings["ttft_ms"] = times.ttft_ms;
  timings["total_ms"] = times.total_ms;
  timings["tokens_per_second"] = times.tokens_per_second;
  timings["prompt_tokens_per_output_token"] = times.prompt_tokens_per_output_token;
  return document;
}

GenerationSink::Output output_of(const CommonOptions& common) {
  if (common.is_json) return GenerationSink::Output::kNone;
  return is_terminal(STDOUT_FILENO) ? GenerationSink::Output::kTerminal
                                    : GenerationSink::Output::kStdout;
}

// A finished answer is held against its format once more, by another implementation.
Result<void> check_format(const grammar::Compiled& format, const GenerationSink& sink, bool thinks,
                          bool is_quiet) {
  if (sink.finished().reason == engine::FinishReason::kLength) {
    note(is_quiet, "the answer ends before what was asked for is complete: --max-tokens");
  }
  if (sink.finished().reason != engine::FinishReason::kStop) return {};
  if (!sink.finished().stop_string.empty()) return {};
  const std::string_view answer =
      thinks ? grammar::answer_behind_thinking(sink.text()) : std::string_view(sink.text());
  PAWL_TRY(const std::string wrong, format.check(answer));
  if (wrong.empty()) return {};
  return Error{ErrorCode::kUnsupported, "the answer breaks its format: " + wrong, ""};
}

// Runs one prompt to its end and tells it. kInterrupted when it was stopped.
Result<ExitStatus> generate(ModelSession& session, const Prompt& prompt,
                            const policy::Policy& policy, const RunFlags& flags,
                            const base::Clock& clock, const std::stop_token& stop,
                            const grammar::Compiled* format = nullptr) {
  engine::EngineLimits limits;
  const auto wanted = static_cast<int64_t>(prompt.ids.size()) + flags.max_tokens_of_one();
  limits.context = std::min(wanted, session.runtime->model()->config().context_length);
  limits.max_sequences = 1;
  PAWL_TRY(const auto engine, engine::Engine::create(*session.runtime, limits, clock));
  GenerationSink sink(output_of(flags.common), wants_logprobs(policy));
  engine::Request request;
  request.prompt = prompt.ids;
  request.policy = policy;
  request.stops = {flags.stops, flags.max_tokens_of_one()};
  request.draft_tokens = flags.draft_tokens();
  if (format != nullptr) {
    const int64_t room = limits.context - static_cast<int64_t>(prompt.ids.size());
    PAWL_TRY(request.constraint, flags.format.constraint(*format, room));
  }
  request.stop_token = stop;
  request.sink = &sink;
  request.received_ns = clock.now_ns();
  PAWL_TRY_VOID(engine->submit(std::move(request)));
  engine->run_until_idle();

  const engine::Finished& finished = sink.finished();
  if (finished.reason == engine::FinishReason::kError) {
    return Error{ErrorCode::kUnsupported, finished.error, ""};
  }
  if (format != nullptr) {
    const bool thinks = grammar::opens_thinking(session.runtime->tokenizer(), prompt.ids);
    PAWL_TRY_VOID(check_format(*format, sink, thinks, flags.common.is_quiet));
  }
  if (flags.common.is_json) {
    fmt::print("{}\n", to_json(session, prompt, policy, sink).dump());
  } else {
    if (!sink.text().ends_with('\n')) fmt::print("\n");
    std::fflush(stdout);
    note(flags.common.is_quiet, summary_line(sink, times_of(sink)));
  }
  return finished.reason == engine::FinishReason::kCancelled ? ExitStatus::kInterrupted
                                                             : ExitStatus::kDone;
}

// Text after text, each by itself: a base model continues, it holds no conversation.
Result<ExitStatus> continue_lines(ModelSession& session, const policy::Policy& policy,
                                  const RunFlags& flags, const base::Clock& clock,
                                  InterruptWatch& interrupt) {
  note(flags.common.is_quiet,
       fmt::format("{} has no chat template: each line is a text to continue; Ctrl-D leaves",
                   session.name));
  for (;;) {
    fmt::print(stderr, "> ");
    std::string text;
    const LineEnd end = read_line(interrupt.token(), text);
    if (end != LineEnd::kLine) fmt::print(stderr, "\n");
    if (end == LineEnd::kEndOfInput) return ExitStatus::kDone;
    if (end == LineEnd::kLine && !text.empty()) {
      PAWL_TRY(const Prompt prompt,
               tokenize_prompt(text, flags.prompt.has_no_bos, *session.runtime, clock));
      PAWL_TRY_VOID(generate(session, prompt, policy, flags, clock, interrupt.token()));
    }
    if (interrupt.has_stopped() && !interrupt.renew()) return ExitStatus::kInterrupted;
  }
}

Result<ExitStatus> chat(ModelSession& session, const text::ChatTemplate& chat_template,
                        const policy::Policy& policy, const RunFlags& flags,
                        const base::Clock& clock, InterruptWatch& interrupt) {
  ChatOptions options;
  options.policy = policy;
  options.stops = flags.stops;
  options.max_tokens = flags.max_tokens.value_or(0);
  options.context = flags.context;
  options.system = flags.chat.system;
  options.draft_tokens = flags.draft_tokens();
  options.is_quiet = flags.common.is_quiet;
  PAWL_TRY(ChatSession conversation,
           ChatSession::create(session, chat_template, std::move(options), clock, interrupt));
  return conversation.run();
}

// A conversation if the model can hold one, or is asked to.
Result<ExitStatus> run_interactively(ModelSession& session, const policy::Policy& policy,
                                     const RunFlags& flags, const base::Clock& clock,
                                     InterruptWatch& interrupt) {
  const auto chat_template = open_chat_template(flags.chat, session);
  if (chat_template.ok()) return chat(session, *chat_template, policy, flags, clock, interrupt);
  const bool has_none = chat_template.error().where == text::ChatTemplate::kKey &&
                        chat_template.error().code == ErrorCode::kInvalidArgument;
  if (flags.chat.is_given() || !has_none) return chat_template.error();
  return continue_lines(session, policy, flags, clock, interrupt);
}

// The prompt's text as a message of a user, and the system message before it.
Result<Prompt> one_message(const CommandLine& line, const RunFlags& flags, ModelSession& session,
                           const base::Clock& clock) {
  if (flags.prompt.ids || flags.prompt.has_no_bos) {
    return line.wrong("--ids and --no-bos make no message; leave out --chat");
  }
  PAWL_TRY(const std::string text, read_prompt_text(line, flags.prompt));
  PAWL_TRY(const text::ChatTemplate chat_template, open_chat_template(flags.chat, session));
  Json messages = Json::array();
  if (flags.chat.system) messages.push_back(chat_message("system", *flags.chat.system));
  messages.push_back(chat_message("user", text));
  return chat_prompt(chat_template, messages, *session.runtime, clock);
}

}  // namespace

Result<ExitStatus> run_command(const Arguments& arguments) {
  CommandLine line(kRunHelp);
  RunFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  const bool is_interactive = !flags.prompt.is_given() && is_terminal(STDIN_FILENO);
  if (!flags.prompt.is_given() && !is_interactive) {
    return line.wrong("--prompt is missing; --file - reads standard input");
  }
  if (flags.draft != "none" && flags.draft != "lookup") {
    return line.wrong(fmt::format("--draft: '{}' is neither none nor lookup", flags.draft));
  }
  if (is_interactive && flags.common.is_json) return line.wrong("--json needs --prompt");
  PAWL_TRY(const policy::Policy policy, flags.policy.policy(line, flags.common.seed));
  if (wants_logprobs(policy) && !flags.common.is_json) {
    return line.wrong("--logprobs and --top-logprobs show in the JSON only; add --json");
  }
  const bool may_fail_to_end = !flags.stops.empty() || policy.ignore_eos || policy.min_tokens > 0 ||
                               !policy.banned.empty() || !policy.allowed.empty();
  if (flags.format.json_budget && may_fail_to_end) {
    return line.wrong(
        "--json-budget and flags that move or forbid the end of an answer exclude each other");
  }
  const base::SteadyClock clock;
  InterruptWatch interrupt;
  PAWL_TRY(ModelSession session, ModelSession::open(flags.common, flags.is_reference, clock,
                                                    interrupt.token(), flags.model));
  if (is_interactive) {
    if (flags.format.is_given()) return line.wrong("a format of the answer needs --prompt");
    return run_interactively(session, policy, flags, clock, interrupt);
  }
  PAWL_TRY(const Prompt prompt, flags.chat.is_given()
                                    ? one_message(line, flags, session, clock)
                                    : read_prompt(line, flags.prompt, *session.runtime, clock));
  const text::Tokenizer& tokenizer = session.runtime->tokenizer();
  PAWL_TRY(const auto format,
           flags.format.compile(line, tokenizer, grammar::opens_thinking(tokenizer, prompt.ids)));
  if (format != nullptr) {
    for (const std::string& text : format->notes()) note(flags.common.is_quiet, text);
  }
  return generate(session, prompt, policy, flags, clock, interrupt.token(), format.get());
}

}  // namespace pawl::cli
