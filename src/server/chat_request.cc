// SPDX-License-Identifier: Apache-2.0
#include "server/chat_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "grammar/thinking.h"

namespace pawl::server {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr std::array<std::string_view, 6> kRoles = {"system",    "developer", "user",
                                                    "assistant", "tool",      "function"};
constexpr std::array<std::string_view, 6> kMembers = {
    "role", "content", "name", "tool_calls", "tool_call_id", "reasoning_content"};
// Members of replies that clients send back as they got them.
constexpr std::array<std::string_view, 4> kEmptyMembers = {"refusal", "annotations", "audio",
                                                           "function_call"};

template <size_t n>
bool holds(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Error wrong(std::string where, std::string_view what) {
  return {ErrorCode::kInvalidArgument, fmt::format("'{}' {}", where, what), std::move(where)};
}

bool is_empty(const Json& value) {
  return value.is_null() || (value.as_array() != nullptr && value.as_array()->empty());
}

// The text of one part: {"type": "text", "text": "…"}.
Result<std::string> part_text(const Json& part, const std::string& where) {
  if (part.as_object() == nullptr) return wrong(where, "is no object");
  const Json* type = part.find("type");
  const std::string* name = type == nullptr ? nullptr : type->as_string();
  if (name == nullptr) return wrong(where + ".type", "is missing");
  if (*name != "text") {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("'{}' is {}: only text is supported", where + ".type",
                             base::quoted_text(*name)),
                 where + ".type"};
  }
  const Json* text = part.find("text");
  if (text == nullptr || text->as_string() == nullptr) {
    return wrong(where + ".text", "is missing or no string");
  }
  return *text->as_string();
}

Result<std::string> content_text(const Json* content, const std::string& where) {
  if (content == nullptr || content->is_null()) return std::string();
  if (content->as_string() != nullptr) return *content->as_string();
  const Json::Array* parts = content->as_array();
  if (parts == nullptr) {
    return wrong(where,
                 fmt::format("is {}, not a string or an array of parts", content->kind_name()));
  }
  std::string text;
  for (size_t i = 0; i < parts->size(); ++i) {
    PAWL_TRY(const std::string part, part_text((*parts)[i], fmt::format("{}[{}]", where, i)));
    text += part;
  }
  return text;
}

Result<Json> read_message(const Json& given, const std::string& where) {
  const Json::Object* members = given.as_object();
  if (members == nullptr) return wrong(where, "is no object");
  for (const auto& [name, value] : *members) {
    if (holds(kMembers, name) || (holds(kEmptyMembers, name) && is_empty(value))) continue;
    return Error{
        holds(kEmptyMembers, name) ? ErrorCode::kUnsupported : ErrorCode::kInvalidArgument,
        fmt::format("'{}' has a member {} that is not supported", where, base::quoted_text(name)),
        where + "." + name.substr(0, 64)};
  }
  const Json* role = given.find("role");
  if (role == nullptr || role->as_string() == nullptr) {
    return wrong(where + ".role", "is missing or no string");
  }
  if (!holds(kRoles, *role->as_string())) {
    return wrong(where + ".role", "is " + base::quoted_text(*role->as_string()) +
                                      ", not system, developer, user, assistant or tool");
  }
  Json message;
  message["role"] = *role->as_string();
  PAWL_TRY(std::string text, content_text(given.find("content"), where + ".content"));
  message["content"] = std::move(text);
  for (const char* name : {"name", "tool_call_id", "reasoning_content"}) {
    const Json* value = given.find(name);
    if (value == nullptr || value->is_null()) continue;
    if (value->as_string() == nullptr) return wrong(where + "." + name, "is no string");
    message[name] = *value;
  }
  const Json* calls = given.find("tool_calls");
  if (calls != nullptr && !is_empty(*calls)) {
    if (calls->as_array() == nullptr) return wrong(where + ".tool_calls", "is no array");
    message["tool_calls"] = *calls;
  }
  return message;
}

Result<Json> read_tools(const FieldReader& fields, const Limits& limits) {
  const Json* tools = fields.find("tools");
  const Json* choice = fields.find("tool_choice");
  const bool wants_none =
      choice != nullptr && choice->as_string() != nullptr && *choice->as_string() == "none";
  if (wants_none) return Json();
  if (tools == nullptr) return Json();
  if (tools->as_array() == nullptr) return fields.wrong("tools", "an array");
  if (tools->as_array()->size() > static_cast<size_t>(limits.tools)) {
    return wrong("tools", fmt::format("has {} entries, at most {} are allowed",
                                      tools->as_array()->size(), limits.tools));
  }
  for (size_t i = 0; i < tools->as_array()->size(); ++i) {
    const Json& tool = (*tools->as_array())[i];
    const Json* type = tool.find("type");
    const Json* function = tool.find("function");
    const Json* name = function == nullptr ? nullptr : function->find("name");
    if (type == nullptr || type->as_string() == nullptr || *type->as_string() != "function" ||
        name == nullptr || name->as_string() == nullptr) {
      return wrong(fmt::format("tools[{}]", i), "is no function with a name");
    }
  }
  return tools->as_array()->empty() ? Json() : *tools;
}

}  // namespace

Result<ChatInput> read_chat_input(const Json& body, const Limits& limits) {
  const FieldReader fields(body);
  ChatInput input;
  const Json* messages = fields.find("messages");
  if (messages == nullptr) return wrong("messages", "is missing");
  if (messages->as_array() == nullptr) return fields.wrong("messages", "an array");
  const Json::Array& given = *messages->as_array();
  if (given.empty()) return wrong("messages", "is empty");
  if (given.size() > static_cast<size_t>(limits.messages)) {
    return wrong("messages", fmt::format("has {} entries, at most {} are allowed", given.size(),
                                         limits.messages));
  }
  input.messages = Json::array();
  for (size_t i = 0; i < given.size(); ++i) {
    PAWL_TRY(Json message, read_message(given[i], fmt::format("messages[{}]", i)));
    input.messages.push_back(std::move(message));
  }
  PAWL_TRY(input.tools, read_tools(fields, limits));
  const Json* variables = fields.find("chat_template_kwargs");
  if (variables != nullptr) {
    if (variables->as_object() == nullptr) return fields.wrong("chat_template_kwargs", "an object");
    input.template_variables = *variables;
  }
  PAWL_TRY(input.continues_final_message, fields.boolean("continue_final_message", false));
  PAWL_TRY(input.adds_generation_prompt,
           fields.boolean("add_generation_prompt", !input.continues_final_message));
  if (input.continues_final_message && input.adds_generation_prompt) {
    return wrong("add_generation_prompt", "and 'continue_final_message' exclude each other");
  }
  const std::string& last = *given.back().find("role")->as_string();
  if (input.continues_final_message && last != "assistant") {
    return wrong("continue_final_message", "is true, and the last message is not the assistant's");
  }
  return input;
}

Result<std::vector<base::TokenId>> render_chat(const ServedModel& model, const ChatInput& input) {
  if (!model.render) {
    return Error{ErrorCode::kUnsupported,
                 "the model has no chat template: start pawl serve with --chat-template FILE, or "
                 "use /v1/completions",
                 "messages"};
  }
  return model.render(input);
}

Result<GenerationRequest> read_chat(const Json& body, const Limits& limits,
                                    const ServedModel& model) {
  PAWL_TRY(GenerationRequest request, read_common(body, Route::kChat, limits, *model.tokenizer));
  PAWL_TRY(const ChatInput input, read_chat_input(body, limits));
  PAWL_TRY(auto ids, render_chat(model, input));
  request.thinks = input.adds_generation_prompt && grammar::opens_thinking(*model.tokenizer, ids);
  request.prompts.push_back(std::move(ids));
  PAWL_TRY_VOID(fit_prompts(body, model.context, request));
  return request;
}

}  // namespace pawl::server
