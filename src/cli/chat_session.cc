// SPDX-License-Identifier: Apache-2.0
#include "cli/chat_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "cli/line_input.h"
#include "model/model.h"

namespace pawl::cli {

using base::Json;
using base::Result;

namespace {

// What stands around our own words on a terminal that has colours, so that they are told from the
// model's.
std::string dimmed(std::string_view text) {
  const bool has_colour = is_terminal(STDERR_FILENO) && std::getenv("NO_COLOR") == nullptr;
  return has_colour ? fmt::format("\033[2m{}\033[0m", text) : std::string(text);
}

void tell(std::string_view text) {
  fmt::print(stderr, "{}\n", dimmed(text));
}

// "/system Be brief" → "/system", "Be brief"
std::pair<std::string, std::string> split_command(const std::string& line) {
  const size_t blank = line.find(' ');
  if (blank == std::string::npos) return {line, ""};
  const size_t rest = line.find_first_not_of(' ', blank);
  return {line.substr(0, blank), rest == std::string::npos ? "" : line.substr(rest)};
}

}  // namespace

ChatSession::ChatSession(ModelSession& model, const text::ChatTemplate& chat, ChatOptions options,
                         const base::Clock& clock, InterruptWatch& interrupt)
    : model_(model),
      chat_(chat),
      options_(std::move(options)),
      clock_(clock),
      interrupt_(interrupt) {}

Result<ChatSession> ChatSession::create(ModelSession& model, const text::ChatTemplate& chat,
                                        ChatOptions options, const base::Clock& clock,
                                        InterruptWatch& interrupt) {
  ChatSession session(model, chat, std::move(options), clock, interrupt);
  engine::EngineLimits limits;
  limits.context =
      std::min<int64_t>(session.options_.context, model.runtime->model()->config().context_length);
  limits.max_sequences = 1;
  PAWL_TRY(session.engine_, engine::Engine::create(*model.runtime, limits, clock));
  return session;
}

Result<ExitStatus> ChatSession::run() {
  if (!options_.is_quiet) {
    tell(fmt::format("{}, {} tokens of context. /help lists the commands, Ctrl-D leaves.",
                     model_.name, grouped(engine_->limits().context)));
  }
  std::string text;
  for (;;) {
    fmt::print(stderr, "{}", text.empty() ? "> " : "… ");
    std::string line;
    const LineEnd end = read_line(interrupt_.token(), line);
    if (end == LineEnd::kEndOfInput) {
      fmt::print(stderr, "\n");
      return ExitStatus::kDone;
    }
    if (end == LineEnd::kStopped) {  // Ctrl-C drops what was typed
      fmt::print(stderr, "\n");
      if (!interrupt_.renew()) return ExitStatus::kInterrupted;
      if (text.empty()) tell("Ctrl-D or /quit leaves.");
      text.clear();
      continue;
    }
    if (line.ends_with('\\')) {
      line.back() = '\n';
      text += line;
      continue;
    }
    text += line;
    if (!text.empty() && !take(std::exchange(text, {}))) return ExitStatus::kDone;
    text.clear();
    if (interrupt_.has_stopped() && !interrupt_.renew()) return ExitStatus::kInterrupted;
  }
}

bool ChatSession::take(const std::string& line) {
  if (line.starts_with("//")) {
    say(line.substr(1));
    return true;
  }
  if (!line.starts_with('/')) {
    say(line);
    return true;
  }
  const auto [command, rest] = split_command(line);
  return obey(command, rest);
}

bool ChatSession::obey(const std::string& command, const std::string& rest) {
  if (command == "/quit" || command == "/exit" || command == "/bye") return false;
  if (command == "/help" || command == "/?") {
    show_help();
  } else if (command == "/clear") {
    turns_.clear();
    tell("Nothing was said.");
  } else if (command == "/system") {
    options_.system = rest.empty() ? std::nullopt : std::optional(rest);
    tell(rest.empty() ? "No system message." : "The system message is: " + rest);
  } else if (command == "/undo") {
    tell(undo() ? "The last message and its answer are forgotten." : "Nothing was said.");
  } else if (command == "/again") {
    if (turns_.empty()) {
      tell("Nothing was said.");
    } else {
      if (*turns_.back().find("role")->as_string() == "assistant") turns_.pop_back();
      options_.policy.seed += 1;
      answer();
    }
  } else if (command == "/stats") {
    show_stats();
  } else {
    tell(fmt::format("There is no command {}. /help lists them; // begins a message with /.",
                     command));
  }
  return true;
}

void ChatSession::show_help() const {
  tell(
      "  /system TEXT   sets the system message; without TEXT there is none\n"
      "  /again         another answer to the last message\n"
      "  /undo          forgets the last message and its answer\n"
      "  /clear         forgets all that was said; the system message stays\n"
      "  /stats         what the last answer and all of them took\n"
      "  /quit          leaves, as Ctrl-D does\n"
      "  Ctrl-C ends an answer and keeps what came of it. A line that ends with \\ goes on in the\n"
      "  next one. // begins a message with /.");
}

void ChatSession::show_stats() const {
  if (answers_ == 0) {
    tell("No answer yet.");
    return;
  }
  tell("  last  " + last_summary_);
  tell(fmt::format("  all   {} answer{}: {} prompt tokens, {} of them known · {} output tokens",
                   answers_, answers_ == 1 ? "" : "s", grouped(total_.prompt_tokens),
                   grouped(total_.cached_tokens), grouped(total_.completion_tokens)));
}

bool ChatSession::undo() {
  if (turns_.empty()) return false;
  if (*turns_.back().find("role")->as_string() == "assistant") turns_.pop_back();
  if (!turns_.empty()) turns_.pop_back();
  return true;
}

Json ChatSession::messages() const {
  Json all = Json::array();
  if (options_.system) all.push_back(chat_message("system", *options_.system));
  for (const Json& turn : turns_) all.push_back(turn);
  return all;
}

void ChatSession::say(const std::string& text) {
  turns_.push_back(chat_message("user", text));
  answer();
}

// Whatever goes wrong is told, and the message that cannot be answered is forgotten.
void ChatSession::answer() {
  const auto give_up = [this](const base::Error& error) {
    report_error(error);
    turns_.pop_back();
  };
  auto prompt = chat_prompt(chat_, messages(), *model_.runtime, clock_);
  if (!prompt.ok()) return give_up(prompt.error());
  const auto used = static_cast<int64_t>(prompt->ids.size());
  const int64_t context = engine_->limits().context;
  if (used >= context) {
    return give_up({base::ErrorCode::kInvalidArgument,
                    fmt::format("the conversation has {} tokens, the context holds {}: /undo or "
                                "/clear make room, --context N more",
                                grouped(used), grouped(context)),
                    ""});
  }
  GenerationSink sink(is_terminal(STDOUT_FILENO) ? GenerationSink::Output::kTerminal
                                                 : GenerationSink::Output::kStdout,
                      false);
  engine::Request request;
  request.prompt = std::move(prompt->ids);
  request.policy = options_.policy;
  request.stops = {options_.stops, options_.max_tokens > 0 ? options_.max_tokens : context - used};
  request.draft_tokens = options_.draft_tokens;
  request.stop_token = interrupt_.token();
  request.sink = &sink;
  request.received_ns = clock_.now_ns();
  const auto submitted = engine_->submit(std::move(request));
  if (!submitted.ok()) return give_up(submitted.error());
  engine_->run_until_idle();

  if (!sink.text().ends_with('\n')) fmt::print("\n");
  std::fflush(stdout);
  const engine::Finished& finished = sink.finished();
  if (finished.reason == engine::FinishReason::kError) {
    return give_up({base::ErrorCode::kUnsupported, finished.error, ""});
  }
  if (finished.reason == engine::FinishReason::kCancelled) tell("(ended)");
  if (finished.reason == engine::FinishReason::kLength) tell("(the limit of tokens is reached)");
  turns_.push_back(chat_message("assistant", sink.text()));
  last_summary_ = summary_line(sink, times_of(sink));
  total_.prompt_tokens += finished.usage.prompt_tokens;
  total_.cached_tokens += finished.usage.cached_tokens;
  total_.completion_tokens += finished.usage.completion_tokens;
  ++answers_;
}

}  // namespace pawl::cli
