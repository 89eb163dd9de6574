// SPDX-License-Identifier: Apache-2.0
// The chat part of a prompt: which template, which messages, and the ids that come of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "cli/command_line.h"
#include "cli/model_session.h"
#include "text/chat_template.h"

namespace pawl::cli {

struct ChatFlags {
  bool is_chat = false;
  std::optional<std::string> system;
  std::optional<std::string> chat_template;  // a name or a file; without: the model's own

  void declare(CommandLine& line);
  // Any of them given.
  bool is_given() const { return is_chat || system || chat_template; }
};

// The template that the flags ask for. What closes an answer in it is from then on an end token of
// the session's tokenizer. Errors of ChatTemplate; kInvalidArgument where the model has none, which
// says what to do.
base::Result<text::ChatTemplate> open_chat_template(const ChatFlags& flags, ModelSession& session);

// {role, content}
base::Json chat_message(const std::string& role, const std::string& content);

// The ids of a conversation at whose end the assistant answers. Errors of the template.
base::Result<Prompt> chat_prompt(const text::ChatTemplate& chat, const base::Json& messages,
                                 const engine::Runtime& runtime, const base::Clock& clock);

// Now, as the clock on the wall shows it, in seconds since 1970: some templates write the date.
int64_t local_seconds();

}  // namespace pawl::cli
