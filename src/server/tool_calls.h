// SPDX-License-Identifier: Apache-2.0
// Calls of tools: what a request offers, and what of an answer's text is a call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "grammar/tool_grammar.h"

namespace pawl::server {

// tools, tool_choice and parallel_tool_calls. Nothing: no tool may be called. Errors name the
// field. REQUIRES: `body` is an object; read_chat_input() took its tools
base::Result<std::optional<grammar::ToolUse>> read_tool_use(const base::Json& body,
                                                            const grammar::ToolStyle& style);

// What a piece of an answer is.
struct ToolEvent {
  enum class Kind {
    kText,       // of the message
    kCall,       // a call of the tool `text` begins
    kArguments,  // goes on with the call's arguments
  };
  Kind kind = Kind::kText;
  int call = 0;
  std::string text;
};

// Takes an answer apart as it comes. Text that may be the head of a call is held back.
class ToolCallReader {
 public:
  // style outlives it.
  explicit ToolCallReader(const grammar::ToolStyle& style) : style_(&style) {}

  void push(std::string_view text, std::vector<ToolEvent>& events);
  // No more comes: what was held back is what it looks like.
  void finish(std::vector<ToolEvent>& events);

  int calls() const { return calls_; }
  bool is_between_calls() const { return mode_ == Mode::kText || mode_ == Mode::kBehind; }

 private:
  enum class Mode { kText, kHead, kArguments, kBehind };

  bool step(std::vector<ToolEvent>& events);
  size_t end_of_arguments();

  const grammar::ToolStyle* style_;
  std::string held_;
  Mode mode_ = Mode::kText;
  int calls_ = 0;
  int depth_ = 0;  // of the arguments
  bool is_in_text_ = false, is_escaped_ = false;
};

}  // namespace pawl::server
