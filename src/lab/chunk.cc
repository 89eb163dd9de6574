// SPDX-License-Identifier: Apache-2.0
#include "lab/chunk.h"

#include <algorithm>
#include <limits>
#include <span>

#include "base/utf8.h"

namespace pawl::lab {
namespace {

using base::Json;

std::string_view text_of(const Json* json) {
  if (json == nullptr || json->as_string() == nullptr) return {};
  return *json->as_string();
}

std::span<const Json> items_of(const Json* json) {
  if (json == nullptr || json->as_array() == nullptr) return {};
  return *json->as_array();
}

std::optional<int64_t> count_of(const Json* json) {
  const auto value = json != nullptr ? json->to_int64() : std::nullopt;
  if (!value || *value < 0) return std::nullopt;
  return value;
}

std::optional<double> time_of(const Json* json) {
  const auto value = json != nullptr ? json->to_double() : std::nullopt;
  if (!value || !(*value >= 0)) return std::nullopt;
  return value;
}

// null is an error object's absence, whatever else is in it ("code" may be null).
const Json* error_of(const Json& body) {
  const Json* error = body.find("error");
  return error != nullptr && !error->is_null() ? error : nullptr;
}

std::string one_line(std::string_view text) {
  std::string line;
  base::append_valid_utf8(text, line);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return line;
}

// The tokens of a choice, where something in it has one entry for each.
std::optional<int64_t> choice_tokens(const Json& choice) {
  if (const Json* ids = choice.find("token_ids"); ids != nullptr && ids->as_array() != nullptr) {
    return static_cast<int64_t>(ids->as_array()->size());
  }
  const Json* logprobs = choice.find("logprobs");
  if (logprobs == nullptr) return std::nullopt;
  for (const std::string_view key : {"content", "tokens"}) {  // of a chat, of a completion
    const Json* list = logprobs->find(key);
    if (list != nullptr && list->as_array() != nullptr) {
      return static_cast<int64_t>(list->as_array()->size());
    }
  }
  return std::nullopt;
}

// Of the tokens of a choice, those that were not chosen.
std::optional<int64_t> choice_forced(const Json& choice) {
  const Json* flags = choice.find("token_forced");
  if (flags == nullptr || flags->as_array() == nullptr) return std::nullopt;
  const auto& list = *flags->as_array();
  return std::count_if(list.begin(), list.end(),
                       [](const Json& flag) { return flag.to_bool().value_or(false); });
}

void read_message(const Json& message, Chunk& chunk) {
  chunk.content += text_of(message.find("content"));
  const std::string_view reasoning = text_of(message.find("reasoning_content"));
  chunk.reasoning += reasoning.empty() ? text_of(message.find("reasoning")) : reasoning;
  for (const Json& call : items_of(message.find("tool_calls"))) {
    const Json* function = call.find("function");
    if (function == nullptr) continue;
    chunk.tool_text += text_of(function->find("name"));
    chunk.tool_text += text_of(function->find("arguments"));
  }
}

void read_choices(const Json& body, Chunk& chunk, bool& has_role) {
  int64_t tokens = 0, forced = 0;
  bool are_stated = true, are_flags_stated = true;
  const auto choices = items_of(body.find("choices"));
  for (const Json& choice : choices) {
    chunk.content += text_of(choice.find("text"));
    for (const std::string_view key : {"delta", "message"}) {
      const Json* message = choice.find(key);
      if (message == nullptr) continue;
      read_message(*message, chunk);
      has_role = has_role || !text_of(message->find("role")).empty();
    }
    const std::string_view reason = text_of(choice.find("finish_reason"));
    if (!reason.empty()) chunk.finish_reason = one_line(reason);
    const auto stated = choice_tokens(choice);
    are_stated = are_stated && stated.has_value();
    tokens += stated.value_or(0);
    const auto flags = choice_forced(choice);
    are_flags_stated = are_flags_stated && flags.has_value();
    forced += flags.value_or(0);
  }
  if (!choices.empty() && are_stated && tokens <= std::numeric_limits<int32_t>::max()) {
    chunk.tokens = static_cast<int32_t>(tokens);
    if (are_flags_stated && forced <= tokens) chunk.forced = static_cast<int32_t>(forced);
  }
}

bool read_usage(const Json& body, Chunk& chunk) {
  const Json* usage = body.find("usage");
  if (usage == nullptr || usage->as_object() == nullptr) return false;
  chunk.prompt_tokens = count_of(usage->find("prompt_tokens"));
  chunk.completion_tokens = count_of(usage->find("completion_tokens"));
  if (const Json* details = usage->find("prompt_tokens_details")) {
    chunk.cached_tokens = count_of(details->find("cached_tokens"));
  }
  return true;
}

void read_timings(const Json& body, Chunk& chunk) {
  const Json* timings = body.find("timings");
  if (timings == nullptr) return;
  const auto either = [&](std::string_view ours, std::string_view theirs) {
    const Json* found = timings->find(ours);
    return found != nullptr ? found : timings->find(theirs);
  };
  chunk.queue_ms = time_of(timings->find("queue_ms"));
  chunk.prefill_ms = time_of(either("prefill_ms", "prompt_ms"));
  chunk.decode_ms = time_of(either("decode_ms", "predicted_ms"));
  chunk.timed_cached_tokens = count_of(either("cached_tokens", "cache_n"));
  chunk.timed_completion_tokens = count_of(timings->find("predicted_n"));
  // llama.cpp's prompt_n is what was computed of the prompt.
  const auto computed = count_of(timings->find("prompt_n"));
  const auto cached = count_of(timings->find("cache_n"));
  if (computed && *computed < std::numeric_limits<int32_t>::max()) {
    chunk.timed_prompt_tokens =
        *computed + std::min<int64_t>(cached.value_or(0), std::numeric_limits<int32_t>::max());
  }
}

EventKind kind_of(const Chunk& chunk, bool has_role, bool has_usage) {
  if (!chunk.error.empty()) return EventKind::kError;
  if (!chunk.content.empty()) return EventKind::kContent;
  if (!chunk.tool_text.empty()) return EventKind::kToolCall;
  if (!chunk.reasoning.empty()) return EventKind::kReasoning;
  if (has_usage && chunk.finish_reason.empty()) return EventKind::kUsage;
  if (has_role && chunk.finish_reason.empty()) return EventKind::kRole;
  return EventKind::kOther;
}

}  // namespace

base::Result<Chunk> read_chunk(std::string_view json) {
  auto body = base::parse_json(json);
  if (!body.ok()) return std::move(body).error();
  if (body->as_object() == nullptr) {
    return base::Error{base::ErrorCode::kBadFile, "no JSON object", ""};
  }
  Chunk chunk;
  chunk.id = one_line(text_of(body->find("id")));
  chunk.model = one_line(text_of(body->find("model")));
  if (error_of(*body) != nullptr) {
    chunk.error = error_message(*body).value_or("an error without a message");
  }
  bool has_role = false;
  read_choices(*body, chunk, has_role);
  const bool has_usage = read_usage(*body, chunk);
  read_timings(*body, chunk);
  chunk.kind = kind_of(chunk, has_role, has_usage);
  return chunk;
}

std::optional<std::string> error_message(const Json& body) {
  for (const Json* place : {error_of(body), &body}) {
    if (place == nullptr) continue;
    if (place->as_string() != nullptr) return one_line(*place->as_string());
    for (const std::string_view key : {"message", "detail"}) {
      const std::string_view text = text_of(place->find(key));
      if (!text.empty()) return one_line(text);
    }
  }
  return std::nullopt;
}

}  // namespace pawl::lab
