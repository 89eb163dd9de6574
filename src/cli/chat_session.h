// SPDX-License-Identifier: Apache-2.0
// A conversation on a terminal: lines in, answers streamed, everything said so far sent each time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "cli/chat_prompt.h"
#include "cli/exit_status.h"
#include "cli/generation.h"
#include "cli/model_session.h"
#include "cli/terminal.h"
#include "engine/engine.h"
#include "policy/policy.h"

namespace pawl::cli {

struct ChatOptions {
  policy::Policy policy;
  std::vector<std::string> stops;
  int64_t max_tokens = 0;  // of one answer; 0: what the context holds
  int64_t context = 8192;  // positions of the whole conversation, at most the model's
  std::optional<std::string> system;
  int draft_tokens = 0;  // guesses in one step
  bool is_quiet = false;
};

// Threads: one. Its arguments outlive it.
class ChatSession {
 public:
  static base::Result<ChatSession> create(ModelSession& model, const text::ChatTemplate& chat,
                                          ChatOptions options, const base::Clock& clock,
                                          InterruptWatch& interrupt);

  // Until the input ends, /quit, or a request to end (kInterrupted).
  base::Result<ExitStatus> run();

 private:
  ChatSession(ModelSession& model, const text::ChatTemplate& chat, ChatOptions options,
              const base::Clock& clock, InterruptWatch& interrupt);

  // What a person typed: a command, or a message. False: the session is over.
  bool take(const std::string& line);
  bool obey(const std::string& command, const std::string& rest);
  void say(const std::string& text);
  void answer();
  bool undo();
  void show_help() const;
  void show_stats() const;
  base::Json messages() const;

  ModelSession& model_;
  const text::ChatTemplate& chat_;
  ChatOptions options_;
  const base::Clock& clock_;
  InterruptWatch& interrupt_;
  std::unique_ptr<engine::Engine> engine_;
  std::vector<base::Json> turns_;  // user and assistant, in order
  std::string last_summary_;
  engine::Usage total_;
  int64_t answers_ = 0;
};

}  // namespace pawl::cli
