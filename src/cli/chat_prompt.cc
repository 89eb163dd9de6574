// SPDX-License-Identifier: Apache-2.0
#include "cli/chat_prompt.h"

#include <ctime>
#include <utility>

#include "text/prompt_pieces.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

int64_t local_seconds() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  return ::localtime_r(&now, &local) == nullptr ? now : now + local.tm_gmtoff;
}

void ChatFlags::declare(CommandLine& line) {
  line.group("Chat");
  line.flag({"--chat", "", "the prompt is a message; the model's chat template is applied"},
            is_chat);
  line.text({"--system", "TEXT", "a system message before it; implies --chat"}, system);
  line.text({"--chat-template", "NAME|FILE",
             "another template: chatml deepseek gemma llama2 llama3 mistral phi, or a Jinja file; "
             "implies --chat",
             "the model's own"},
            chat_template);
}

Result<text::ChatTemplate> open_chat_template(const ChatFlags& flags, ModelSession& session) {
  const text::Vocab& vocab = session.runtime->tokenizer().vocab();
  auto opened = flags.chat_template ? text::ChatTemplate::open(*flags.chat_template, vocab)
                                    : text::ChatTemplate::of_model(
                                          session.runtime->model()->file()->metadata(), vocab);
  if (!opened.ok()) {
    Error error = std::move(opened).error();
    if (error.code == ErrorCode::kNotFound) error.code = ErrorCode::kInvalidArgument;
    return error;
  }
  if (opened->turn_end()) session.runtime->add_end(*opened->turn_end());
  return opened;
}

Json chat_message(const std::string& role, const std::string& content) {
  return Json::object_of({{"role", role}, {"content", content}});
}

Result<Prompt> chat_prompt(const text::ChatTemplate& chat, const Json& messages,
                           const engine::Runtime& runtime, const base::Clock& clock) {
  Prompt prompt;
  const int64_t start_ns = clock.now_ns();
  text::ChatRequest request;
  request.messages = messages;
  request.local_seconds = local_seconds();
  PAWL_TRY(const text::PromptPieces pieces, chat.render(request));
  PAWL_TRY(prompt.ids, text::tokenize(pieces, runtime.tokenizer()));
  prompt.tokenize_ms = ms_between(start_ns, clock.now_ns());
  return prompt;
}

}  // namespace pawl::cli
