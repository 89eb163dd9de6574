// SPDX-License-Identifier: Apache-2.0
#include "text/chat_messages.h"

#include <string>
#include <utility>

namespace pawl::text {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

constexpr const char* kToolCalls = "tool_calls";

Error wrong(const std::string& where, const std::string& what) {
  return Error{ErrorCode::kInvalidArgument, where + ": " + what, where};
}

Result<std::string> joined_parts(const Json::Array& parts, const std::string& where) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string at = where + "[" + std::to_string(i) + "]";
    if (const std::string* bare = parts[i].as_string()) {
      text += *bare;
      continue;
    }
    const Json* type = parts[i].find("type");
    if (type == nullptr || type->as_string() == nullptr) {
      return wrong(at, "a part of the content is an object with a type");
    }
    if (*type->as_string() != "text") {
      return wrong(at + ".type", "'" + *type->as_string() + "' is not supported, text is");
    }
    const Json* part = parts[i].find("text");
    if (part == nullptr || part->as_string() == nullptr) {
      return wrong(at + ".text", "is missing, or no string");
    }
    text += *part->as_string();
  }
  return text;
}

Result<std::string> content_of(const Json& message, const std::string& where) {
  const Json* content = message.find("content");
  if (content == nullptr || content->is_null()) return std::string();
  if (const std::string* text = content->as_string()) return *text;
  if (const Json::Array* parts = content->as_array()) {
    return joined_parts(*parts, where + ".content");
  }
  return wrong(where + ".content",
               "is of type " + std::string(content->kind_name()) + ", not a string or an array");
}

Json normal_arguments(const Json& value, ToolArguments form) {
  const std::string* text = value.as_string();
  if (form == ToolArguments::kAsText) return text != nullptr ? value : Json(value.dump());
  if (text == nullptr) return value;
  const auto parsed = base::parse_json(*text, {.depth = 64, .bytes = text->size() + 1});
  return parsed.ok() && parsed->as_object() != nullptr ? *parsed : value;
}

// {id, type, function: {name, arguments}}, or the inner object by itself.
Json normal_call(const Json& call, ToolArguments form) {
  Json::Object members;
  for (const Json::Member& member : *call.as_object()) {
    if (member.key == "arguments") {
      members.push_back({member.key, normal_arguments(member.value, form)});
    } else if (member.key == "function" && member.value.as_object() != nullptr) {
      members.push_back({member.key, normal_call(member.value, form)});
    } else {
      members.push_back(member);
    }
  }
  return Json::object_of(std::move(members));
}

Result<Json> normal_calls(const Json& calls, ToolArguments form, const std::string& where) {
  const Json::Array* items = calls.as_array();
  if (items == nullptr) return wrong(where, "is no array");
  Json copy = Json::array();
  for (size_t i = 0; i < items->size(); ++i) {
    if ((*items)[i].as_object() == nullptr) {
      return wrong(where + "[" + std::to_string(i) + "]", "is no object");
    }
    copy.push_back(normal_call((*items)[i], form));
  }
  return copy;
}

Result<Json> normal_message(const Json& message, ToolArguments form, const std::string& where) {
  if (message.as_object() == nullptr) return wrong(where, "is no object");
  const Json* role = message.find("role");
  if (role == nullptr || role->as_string() == nullptr) {
    return wrong(where + ".role", "is missing, or no string");
  }
  PAWL_TRY(std::string content, content_of(message, where));
  Json::Object members;
  members.push_back({"role", *role});
  members.push_back({"content", std::move(content)});
  for (const Json::Member& member : *message.as_object()) {
    if (member.key == "role" || member.key == "content" || member.value.is_null()) continue;
    if (member.key != kToolCalls) {
      members.push_back(member);
      continue;
    }
    PAWL_TRY(Json calls, normal_calls(member.value, form, where + "." + kToolCalls));
    members.push_back({kToolCalls, std::move(calls)});
  }
  return Json::object_of(std::move(members));
}

}  // namespace

Result<Json> normal_messages(const Json& messages, ToolArguments form) {
  const Json::Array* items = messages.as_array();
  if (items == nullptr || items->empty()) {
    return wrong("messages", "is no array of at least one message");
  }
  Json copy = Json::array();
  for (size_t i = 0; i < items->size(); ++i) {
    const std::string where = "messages[" + std::to_string(i) + "]";
    PAWL_TRY(Json message, normal_message((*items)[i], form, where));
    copy.push_back(std::move(message));
  }
  return copy;
}

bool has_tool_calls(const Json& messages) {
  for (const Json& message : *messages.as_array()) {
    if (message.find(kToolCalls) != nullptr) return true;
  }
  return false;
}

}  // namespace pawl::text
