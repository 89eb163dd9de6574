// SPDX-License-Identifier: Apache-2.0
#include "server/generation_request.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <random>

#include "base/utf8.h"
#include "engine/draft.h"

namespace pawl::server {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;
using base::TokenId;

namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();
constexpr double kMaxTimeout = 7 * 24 * 3600;
constexpr int kMaxTopLogprobs = 20;

Error wrong_value(std::string_view field, std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message), std::string(field)};
}

Result<void> read_knobs(const FieldReader& fields, policy::Policy& policy) {
  for (const policy::Knob& knob : policy::knobs()) {
    if (std::string_view(knob.name) == "top_logprobs") continue;
    if (knob.integer != nullptr) {
      PAWL_TRY(const auto value, fields.integer(knob.name, static_cast<int64_t>(knob.minimum),
                                                static_cast<int64_t>(knob.maximum)));
      if (value) policy.*knob.integer = static_cast<int32_t>(*value);
    } else {
      PAWL_TRY(const auto value, fields.number(knob.name, knob.minimum, knob.maximum));
      if (value) policy.*knob.real = *value;
    }
  }
  PAWL_TRY(policy.ignore_eos, fields.boolean("ignore_eos", false));
  return {};
}

// {"id": bias}: the keys are decimal ids, as JSON has no other.
Result<void> read_logit_bias(const FieldReader& fields, int limit, const text::Vocab& vocab,
                             policy::Policy& policy) {
  const Json* value = fields.find("logit_bias");
  if (value == nullptr) return {};
  const Json::Object* members = value->as_object();
  if (members == nullptr) return fields.wrong("logit_bias", "an object of id and bias");
  if (members->size() > static_cast<size_t>(limit)) {
    return wrong_value("logit_bias", fmt::format("'logit_bias' has {} entries, at most {} are "
                                                 "allowed",
                                                 members->size(), limit));
  }
  for (const auto& [key, bias] : *members) {
    int64_t id = -1;
    const auto [end, failure] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (failure != std::errc() || end != key.data() + key.size()) {
      return wrong_value("logit_bias",
                         "'logit_bias': " + base::quoted_text(key) + " is no token id");
    }
    auto known = vocab.check(id);
    if (!known.ok()) return wrong_value("logit_bias", "'logit_bias': " + known.error().message);
    const auto number = bias.to_double();
    if (!number || !(*number >= -100 && *number <= 100)) {
      return wrong_value("logit_bias",
                         fmt::format("'logit_bias': the bias of {} is not in -100 to 100", id));
    }
    policy.logit_bias.emplace_back(static_cast<TokenId>(id), *number);
  }
  return {};
}

Result<void> read_id_list(const FieldReader& fields, std::string_view name,
                          const text::Vocab& vocab, std::vector<TokenId>& ids) {
  const Json* value = fields.find(name);
  if (value == nullptr) return {};
  if (value->as_array() == nullptr) return fields.wrong(name, "an array of token ids");
  PAWL_TRY(ids, read_ids(name, *value->as_array(), vocab));
  return {};
}

Result<void> read_samplers(const FieldReader& fields, policy::Policy& policy) {
  const Json* value = fields.find("samplers");
  if (value == nullptr) return {};
  std::string names;
  if (value->as_string() != nullptr) {
    names = *value->as_string();
  } else if (value->as_array() != nullptr) {
    for (const Json& item : *value->as_array()) {
      if (item.as_string() == nullptr) return fields.wrong("samplers", "an array of stage names");
      names += (names.empty() ? "" : ",") + *item.as_string();
    }
  } else {
    return fields.wrong("samplers", "an array of stage names");
  }
  auto stages = policy::parse_samplers(names);
  if (!stages.ok()) return wrong_value("samplers", stages.error().message);
  policy.samplers = std::move(*stages);
  return {};
}

Result<void> read_stops(const FieldReader& fields, const Limits& limits,
                        std::vector<std::string>& stops) {
  const Json* value = fields.find("stop");
  if (value == nullptr) return {};
  if (value->as_string() != nullptr) {
    stops.push_back(*value->as_string());
  } else if (value->as_array() != nullptr) {
    for (const Json& item : *value->as_array()) {
      if (item.as_string() == nullptr) return fields.wrong("stop", "a string or an array of them");
      stops.push_back(*item.as_string());
    }
  } else {
    return fields.wrong("stop", "a string or an array of them");
  }
  if (stops.size() > static_cast<size_t>(limits.stop_strings)) {
    return wrong_value("stop", fmt::format("'stop' has {} strings, at most {} are allowed",
                                           stops.size(), limits.stop_strings));
  }
  for (const std::string& stop : stops) {
    if (stop.empty()) return wrong_value("stop", "'stop' holds an empty string");
    if (stop.size() > limits.stop_string_bytes) {
      return wrong_value("stop", fmt::format("a string of 'stop' has {} bytes, at most {} are "
                                             "allowed",
                                             stop.size(), limits.stop_string_bytes));
    }
  }
  return {};
}

Result<void> read_max_tokens(const FieldReader& fields, GenerationRequest& request) {
  const bool is_chat = request.route == Route::kChat;
  PAWL_TRY(const auto old_name, fields.integer("max_tokens", is_chat ? 1 : 0, kMaxInt));
  std::optional<int64_t> wanted = old_name;
  if (is_chat) {
    PAWL_TRY(const auto value, fields.integer("max_completion_tokens", 1, kMaxInt));
    if (value && old_name && *value != *old_name) {
      return wrong_value("max_completion_tokens",
                         fmt::format("'max_tokens' is {} and 'max_completion_tokens' is {}: give "
                                     "one of them",
                                     *old_name, *value));
    }
    if (value) wanted = value;
  }
  request.max_tokens = wanted.value_or(is_chat ? kMaxInt : 16);
  if (request.policy.min_tokens > request.max_tokens) {
    return wrong_value("min_tokens", fmt::format("'min_tokens' is {}, more than 'max_tokens', {}",
                                                 request.policy.min_tokens, request.max_tokens));
  }
  return {};
}

Result<void> read_logprobs(const FieldReader& fields, GenerationRequest& request) {
  if (request.route == Route::kCompletion) {
    PAWL_TRY(const auto top, fields.integer("logprobs", 0, kMaxTopLogprobs));
    request.wants_logprobs = top.has_value();
    request.policy.top_logprobs = static_cast<int32_t>(top.value_or(0));
    if (fields.find("top_logprobs") != nullptr) {
      return wrong_value("top_logprobs",
                         "'top_logprobs' is a field of chats; here it is "
                         "'logprobs': N");
    }
  } else {
    PAWL_TRY(request.wants_logprobs, fields.boolean("logprobs", false));
    PAWL_TRY(const auto top, fields.integer("top_logprobs", 0, kMaxTopLogprobs));
    if (top.value_or(0) > 0 && !request.wants_logprobs) {
      return wrong_value("top_logprobs", "'top_logprobs' is given and 'logprobs' is not true");
    }
    request.policy.top_logprobs = static_cast<int32_t>(top.value_or(0));
  }
  request.policy.logprobs = request.wants_logprobs;
  return {};
}

Result<void> read_stream(const FieldReader& fields, GenerationRequest& request) {
  PAWL_TRY(request.is_stream, fields.boolean("stream", false));
  const Json* value = fields.find("stream_options");
  if (value == nullptr) return {};
  if (value->as_object() == nullptr) return fields.wrong("stream_options", "an object");
  if (!request.is_stream) {
    return wrong_value("stream_options", "'stream_options' is given and 'stream' is not true");
  }
  const FieldReader options(*value, "stream_options.");
  for (const auto& [name, unused] : *value->as_object()) {
    if (name == "include_usage" || name == "continuous_usage_stats" || name == "include_progress" ||
        name == "include_obfuscation") {
      continue;
    }
    return wrong_value("stream_options", "unrecognized request argument: 'stream_options." +
                                             base::quoted_text(name) + "'");
  }
  PAWL_TRY(request.wants_usage, options.boolean("include_usage", false));
  PAWL_TRY(request.wants_continuous_usage, options.boolean("continuous_usage_stats", false));
  PAWL_TRY(request.wants_progress, options.boolean("include_progress", false));
  PAWL_TRY(const bool is_padded, options.boolean("include_obfuscation", false));
  if (is_padded) {
    return Error{ErrorCode::kUnsupported, "'stream_options.include_obfuscation' is not supported",
                 "stream_options.include_obfuscation"};
  }
  return {};
}

}  // namespace

Result<void> read_scheduling(const FieldReader& fields, const Limits& limits,
                             GenerationRequest& request) {
  PAWL_TRY(const auto priority, fields.integer("priority", -100, 100));
  request.priority = static_cast<int>(priority.value_or(0));
  PAWL_TRY(const auto draft, fields.text("draft", limits.id_bytes));
  if (draft && *draft != "none" && *draft != "lookup") {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'draft' can be none or lookup, not {}", base::quoted_text(*draft)),
                 "draft"};
  }
  if (draft == "lookup") request.draft_tokens = engine::kDraftTokens;
  PAWL_TRY(const auto salt, fields.text("cache_salt", limits.id_bytes));
  request.cache_salt = salt.value_or("");
  PAWL_TRY(const auto user, fields.text("user", limits.id_bytes * 8));
  request.user = user.value_or("");
  PAWL_TRY(const auto timeout, fields.number("timeout", 0.001, kMaxTimeout));
  if (timeout) request.timeout_ms = static_cast<int64_t>(*timeout * 1000);
  PAWL_TRY(const auto choices, fields.integer("n", 1, limits.choices));
  request.choices = static_cast<int>(choices.value_or(1));
  return {};
}

Result<std::vector<TokenId>> read_ids(std::string_view field, const Json::Array& items,
                                      const text::Vocab& vocab) {
  std::vector<TokenId> ids;
  ids.reserve(items.size());
  for (const Json& item : items) {
    const auto id = item.to_int64();
    if (!id) {
      return wrong_value(field,
                         fmt::format("'{}' holds {}, not a token id", field, item.kind_name()));
    }
    auto known = vocab.check(*id);
    if (!known.ok())
      return wrong_value(field, fmt::format("'{}': {}", field, known.error().message));
    ids.push_back(static_cast<TokenId>(*id));
  }
  return ids;
}

Result<GenerationRequest> read_common(const Json& body, Route route, const Limits& limits,
                                      const text::Tokenizer& tokenizer) {
  GenerationRequest request;
  request.route = route;
  PAWL_TRY_VOID(check_fields(body, route));
  const FieldReader fields(body);
  policy::Policy& policy = request.policy;
  PAWL_TRY_VOID(read_knobs(fields, policy));
  PAWL_TRY_VOID(read_logit_bias(fields, limits.logit_biases, tokenizer.vocab(), policy));
  PAWL_TRY_VOID(read_id_list(fields, "banned_token_ids", tokenizer.vocab(), policy.banned));
  PAWL_TRY_VOID(read_id_list(fields, "allowed_token_ids", tokenizer.vocab(), policy.allowed));
  PAWL_TRY_VOID(read_samplers(fields, policy));
  // Any integer is a seed; below 0 as two's complement.
  PAWL_TRY(const auto seed, fields.integer("seed", std::numeric_limits<int64_t>::min(),
                                           std::numeric_limits<int64_t>::max()));
  policy.seed = seed ? static_cast<uint64_t>(*seed) : std::random_device()();
  PAWL_TRY_VOID(read_logprobs(fields, request));
  PAWL_TRY_VOID(policy::validate(policy));
  PAWL_TRY_VOID(read_max_tokens(fields, request));
  PAWL_TRY_VOID(read_stops(fields, limits, request.stops));
  PAWL_TRY_VOID(read_stream(fields, request));
  PAWL_TRY_VOID(read_scheduling(fields, limits, request));
  PAWL_TRY(request.wants_ids, fields.boolean("return_token_ids", false));
  PAWL_TRY(request.wants_times, fields.boolean("return_token_times", false));
  return request;
}

Result<void> fit_prompts(const Json& body, int64_t context, GenerationRequest& request) {
  const FieldReader fields(body);
  PAWL_TRY(const auto keep, fields.integer("truncate_prompt_tokens", 1, kMaxInt));
  for (auto& prompt : request.prompts) {
    if (prompt.empty()) return wrong_value("prompt", "the prompt has no token");
    const auto size = static_cast<int64_t>(prompt.size());
    if (keep && size > *keep) {
      prompt.erase(prompt.begin(), prompt.end() - *keep);
      request.truncated_tokens += size - *keep;
    }
    if (static_cast<int64_t>(prompt.size()) < context) continue;
    Error error = wrong_value(request.route == Route::kChat ? "messages" : "prompt",
                              fmt::format("the prompt has {} tokens, context {}: at most {} leave "
                                          "room for a completion",
                                          prompt.size(), context, context - 1));
    return error;
  }
  return {};
}

}  // namespace pawl::server
