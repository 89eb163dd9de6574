// SPDX-License-Identifier: Apache-2.0
#include "server/tool_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "server/fields.h"
#include "server/text_marks.h"

namespace pawl::server {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;
using grammar::Tool;
using grammar::ToolUse;

namespace {

constexpr size_t kMaxName = 64;

Error wrong(std::string where, std::string_view what) {
  return {ErrorCode::kInvalidArgument, fmt::format("'{}' {}", where, what), std::move(where)};
}

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

}  // namespace

Result<std::optional<ToolUse>> read_tool_use(const Json& body, const grammar::ToolStyle& style) {
  const FieldReader fields(body);
  const Json* tools = fields.find("tools");
  const Json* choice = fields.find("tool_choice");
  PAWL_TRY(const bool may_call_many, fields.boolean("parallel_tool_calls", true));
  const std::string* word = choice == nullptr ? nullptr : choice->as_string();
  const bool has_tools =
      tools != nullptr && tools->as_array() != nullptr && !tools->as_array()->empty();
  const bool asks = choice != nullptr && (word == nullptr || *word == "required");
  if (!has_tools) {
    if (asks) return wrong("tool_choice", "asks for a call and there are no 'tools'");
    return std::optional<ToolUse>();
  }
  if (word != nullptr && *word == "none") return std::optional<ToolUse>();
  std::string named;
  if (choice != nullptr && word == nullptr) {
    const Json* function = choice->find("function");
    const Json* name = function == nullptr ? nullptr : function->find("name");
    if (name == nullptr || name->as_string() == nullptr) {
      return wrong("tool_choice", "names no function");
    }
    named = *name->as_string();
  } else if (word != nullptr && *word != "auto" && *word != "required") {
    return wrong("tool_choice", "is not none, auto, required or a function");
  }
  ToolUse use;
  use.style = &style;
  use.must_call = asks;
  use.may_call_many = may_call_many;
  for (size_t i = 0; i < tools->as_array()->size(); ++i) {
    const Json& function = *(*tools->as_array())[i].find("function");
    const std::string& name = *function.find("name")->as_string();
    if (!is_tool_name(name)) {
      return wrong(fmt::format("tools[{}].function.name", i),
                   "is not 1 to 64 letters, digits, '_', '-' and '.'");
    }
    if (!named.empty() && name != named) continue;
    const Json* parameters = function.find("parameters");
    use.tools.push_back({name, parameters == nullptr ? Json() : *parameters});
  }
  if (use.tools.empty()) return wrong("tool_choice", "names a function that is not in 'tools'");
  if (!named.empty()) use.may_call_many = false;
  return std::optional(std::move(use));
}

void ToolCallReader::push(std::string_view text, std::vector<ToolEvent>& events) {
  held_ += text;
  while (step(events)) {
  }
}

void ToolCallReader::finish(std::vector<ToolEvent>& events) {
  if (mode_ == Mode::kText && !held_.empty()) {
    events.push_back({ToolEvent::Kind::kText, 0, std::move(held_)});
  }
  held_.clear();
}

// The end of the arguments within what is held, or npos when they go on.
size_t ToolCallReader::end_of_arguments() {
  for (size_t i = 0; i < held_.size(); ++i) {
    const char c = held_[i];
    if (is_in_text_) {
      if (is_escaped_) {
        is_escaped_ = false;
      } else if (c == '\\') {
        is_escaped_ = true;
      } else if (c == '"') {
        is_in_text_ = false;
      }
    } else if (c == '"') {
      is_in_text_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      return i + 1;
    }
  }
  return std::string::npos;
}

// One piece of what is held; false: more is needed.
bool ToolCallReader::step(std::vector<ToolEvent>& events) {
  switch (mode_) {
    case Mode::kText: {
      const std::string_view trigger = style_->trigger.empty() ? style_->call : style_->trigger;
      const size_t found = held_.find(trigger);
      const size_t keep =
          found != std::string::npos ? found : held_.size() - head_of_mark(held_, trigger);
      if (keep > 0) events.push_back({ToolEvent::Kind::kText, 0, held_.substr(0, keep)});
      held_.erase(0, keep);
      if (found != std::string::npos) mode_ = Mode::kHead;
      return found != std::string::npos;
    }
    case Mode::kHead: {
      const size_t call = held_.find(style_->call);
      const size_t name = call + style_->call.size();
      const size_t middle =
          call == std::string::npos ? std::string::npos : held_.find(style_->middle, name);
      if (middle == std::string::npos) return false;
      events.push_back({ToolEvent::Kind::kCall, calls_++, held_.substr(name, middle - name)});
      held_.erase(0, middle + style_->middle.size());
      mode_ = Mode::kArguments;
      return true;
    }
    case Mode::kArguments: {
      const size_t end = end_of_arguments();
      const bool is_done = end != std::string::npos;
      const size_t length = is_done ? end : held_.size();
      if (length > 0) {
        events.push_back({ToolEvent::Kind::kArguments, calls_ - 1, held_.substr(0, length)});
      }
      held_.erase(0, length);
      if (is_done) mode_ = Mode::kBehind;
      return is_done;
    }
    case Mode::kBehind:
      if (held_.find(style_->call) == std::string::npos) return false;
      mode_ = Mode::kHead;
      return true;
  }
  return false;
}

}  // namespace pawl::server
