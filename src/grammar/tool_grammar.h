// SPDX-License-Identifier: Apache-2.0
// Answers that call tools, in the spelling that a model was taught: what stands before a call,
// before its arguments and behind them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "bridge/validator.h"
#include "grammar/json_grammar.h"

namespace pawl::grammar {

// An answer is: text, or text (where it may stand) and opening call name middle arguments close,
// further calls after `between`, closing. `trigger` begins `opening` + `call`: no text holds it.
struct ToolStyle {
  std::string_view name;
  std::string_view template_mark;  // that a template with this style has
  std::string_view trigger;
  std::string_view opening, call, middle, close, between, closing;
};

// The style of a template's source; of one that has none of the marks, and of no template: a call
// is one JSON object, and there is no text beside it.
const ToolStyle& tool_style_of(std::string_view template_source);

struct Tool {
  std::string name;
  base::Json parameters;  // a JSON Schema; null: any object
};

struct ToolUse {
  const ToolStyle* style = nullptr;
  std::vector<Tool> tools;  // those that may be called; at least one
  bool must_call = false;
  bool may_call_many = true;
  bool thinks = false;  // the prompt opened the model's thinking: all this comes behind it
};

struct ToolGrammarText {
  std::string text;  // the JSON form of bridge.h
  std::vector<std::string> notes;
  std::vector<std::pair<std::string, bridge::Validator>> judges;  // of arguments, by tool
};

// Errors as of json_grammar, with the tool's name before the message.
base::Result<ToolGrammarText> tool_grammar(const ToolUse& use, Whitespace whitespace);

}  // namespace pawl::grammar
