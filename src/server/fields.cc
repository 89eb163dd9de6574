// SPDX-License-Identifier: Apache-2.0
#include "server/fields.h"

#include <fmt/format.h>

#include <cmath>

#include "base/utf8.h"
#include "policy/policy.h"

namespace pawl::server {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr uint8_t kChat = static_cast<uint8_t>(Route::kChat);
constexpr uint8_t kCompletion = static_cast<uint8_t>(Route::kCompletion);
constexpr uint8_t kEmbeddings = static_cast<uint8_t>(Route::kEmbeddings);
constexpr uint8_t kBoth = kChat | kCompletion;
constexpr uint8_t kAll = kBoth | kEmbeddings;
constexpr Handling kRead = Handling::kRead;
constexpr Handling kNoEffect = Handling::kNoEffect;
constexpr Handling kRefused = Handling::kRefused;

constexpr FieldRow kFields[] = {
    // What is asked
    {"model", kAll, kRead, "", "the served model's name; may be left out"},
    {"messages", kChat, kRead, "", "roles system, developer, user, assistant, tool; text content"},
    {"prompt", kCompletion, kRead, "", "a text, an array of texts, of ids, or of arrays of ids"},
    {"tools", kChat, kRead, "", "given to the chat template; arguments obey their schemas"},
    {"tool_choice", kChat, kRead, "", "none, auto, required, or a named function"},
    {"parallel_tool_calls", kChat, kRead, "", "false: at most one call"},
    {"continue_final_message", kChat, kRead, "", "the last assistant message is gone on with"},
    {"add_generation_prompt", kChat, kRead, "", "whether the template opens an assistant turn"},
    {"chat_template_kwargs", kChat, kRead, "", "variables for the template"},
    {"echo", kCompletion, kRead, "", "the prompt stands before the completion"},
    {"truncate_prompt_tokens", kBoth, kRead, "", "keeps the last so many tokens of the prompt"},
    {"input", kEmbeddings, kRead, "", "a text, an array of texts, of ids, or of arrays of ids"},
    {"encoding_format", kEmbeddings, kRead, "", "float, or base64: the numbers as float32"},
    {"pooling", kEmbeddings, kRead, "",
     "mean, last or cls; else as the model's file says, or mean"},
    {"normalize", kEmbeddings, kRead, "", "false: vectors as they are, not of length 1"},
    {"dimensions", kEmbeddings, kRead, "", "the model's own number only"},
    // How much, and until when
    {"max_tokens", kBoth, kRead, "", "chat: up to the context's end; completions: 16"},
    {"max_completion_tokens", kChat, kRead, "", "the same; refused when both differ"},
    {"stop", kBoth, kRead, "", "a text or an array of texts"},
    {"ignore_eos", kBoth, kRead, "", "end tokens are never chosen"},
    {"timeout", kAll, kRead, "", "seconds until the request is ended"},
    {"n", kBoth, kRead, "", "choices for each prompt; choice i draws with seed + i"},
    // Policy; the knobs of policy.h stand beside these
    {"seed", kBoth, kRead, "", "drawn and told in the reply when absent"},
    {"logit_bias", kBoth, kRead, "", "{\"id\": -100..100}"},
    {"banned_token_ids", kBoth, kRead, "", "never chosen"},
    {"allowed_token_ids", kBoth, kRead, "", "nothing else is chosen"},
    {"samplers", kBoth, kRead, "", "the order of the policy's stages"},
    // What comes back
    {"stream", kBoth, kRead, "", ""},
    {"stream_options", kBoth, kRead, "", "include_usage, continuous_usage_stats, include_progress"},
    {"logprobs", kBoth, kRead, "", "chat: true or false; completions: a number"},
    {"return_token_ids", kBoth, kRead, "",
     "token_ids and prompt_token_ids in the reply; ids in log-probabilities"},
    {"return_token_times", kBoth, kRead, "",
     "token_times_ms: when each token was chosen, from receiving the request"},
    // What the answer is to look like; at most one of these
    {"response_format", kBoth, kRead, "", "text, json_object, or json_schema with a schema"},
    {"grammar", kBoth, kRead, "", "GBNF, or Lark as llguidance reads it"},
    {"regex", kBoth, kRead, "", "the whole answer matches"},
    {"choice", kBoth, kRead, "", "an array of texts: the answer is one of them"},
    {"json_schema", kBoth, kRead, "", "a schema, as llama.cpp's server has it"},
    {"guided_json", kBoth, kRead, "", "a schema, or its text"},
    {"guided_regex", kBoth, kRead, "", "the same as regex"},
    {"guided_choice", kBoth, kRead, "", "the same as choice"},
    {"guided_grammar", kBoth, kRead, "", "the same as grammar"},
    {"json_budget", kBoth, kRead, "", "close: JSON is whole within max_tokens"},
    // Scheduling
    {"cache_salt", kAll, kRead, "", "prefixes are shared among requests of one salt only"},
    {"priority", kAll, kRead, "", "-100 to 100, smaller goes first"},
    {"draft", kBoth, kRead, "",
     "none, or lookup: guesses from the text so far; never another token"},
    // Without an effect by definition
    {"user", kAll, kNoEffect, "", "a name for the client's own records"},
    {"safety_identifier", kBoth, kNoEffect, "", "a name for the service's records"},
    {"metadata", kChat, kNoEffect, "", "labels of stored completions; nothing is stored"},
    {"prompt_cache_key", kChat, kNoEffect, "", "a hint; equal prefixes are found without it"},
    // Known, and not done
    {"store", kBoth, kRefused, "[false]", "nothing is stored"},
    {"service_tier", kChat, kRefused, "[\"auto\",\"default\"]", "there is one tier"},
    {"modalities", kChat, kRefused, "[[\"text\"]]", "text only"},
    {"audio", kChat, kRefused, "", "text only"},
    {"prediction", kChat, kRefused, "", "predicted outputs are not there"},
    {"reasoning_effort", kChat, kRefused, "",
     "give the template's own variable in "
     "chat_template_kwargs"},
    {"verbosity", kChat, kRefused, "[\"medium\"]", "no model here has such a setting"},
    {"web_search_options", kChat, kRefused, "", "nothing outside is reached"},
    {"prompt_cache_retention", kChat, kRefused, "[\"in_memory\",\"in-memory\"]",
     "prefixes are kept in memory"},
    {"functions", kChat, kRefused, "[[]]", "deprecated; use tools"},
    {"function_call", kChat, kRefused, "[\"none\",\"auto\"]", "deprecated; use tool_choice"},
    {"suffix", kCompletion, kRefused, "[\"\"]", "text before a given end is not there"},
    {"best_of", kCompletion, kRefused, "[1]", "choices are not ranked; use n"},
};

const FieldRow* find_field(std::string_view name, Route route) {
  for (const FieldRow& row : kFields) {
    if (row.name == name && (row.routes & static_cast<uint8_t>(route)) != 0) return &row;
  }
  return nullptr;
}

bool is_neutral(const FieldRow& row, const Json& value) {
  if (row.neutral.empty()) return false;
  const auto allowed = base::parse_json(row.neutral);
  PAWL_CHECK(allowed.ok());
  const std::string given = value.dump();
  for (const Json& one : *allowed->as_array()) {
    if (one.dump() == given) return true;
  }
  return false;
}

// A number of a JSON text; integers keep their digits.
std::string shown(double value) {
  return fmt::format("{}", value);
}

}  // namespace

std::span<const FieldRow> field_table() {
  return kFields;
}

Result<void> check_fields(const Json& body, Route route) {
  for (const auto& [name, value] : *body.as_object()) {
    if (route != Route::kEmbeddings && policy::find_knob(name) != nullptr) continue;
    const FieldRow* row = find_field(name, route);
    if (row == nullptr) {
      return Error{ErrorCode::kInvalidArgument,
                   "unrecognized request argument: " + base::quoted_text(name), name.substr(0, 64)};
    }
    if (row->handling != Handling::kRefused || value.is_null() || is_neutral(*row, value)) continue;
    std::string message = fmt::format("'{}' is not supported: {}", row->name, row->note);
    if (!row->neutral.empty()) message += fmt::format("; accepted: {}", row->neutral);
    return Error{ErrorCode::kUnsupported, std::move(message), name};
  }
  return {};
}

const Json* FieldReader::find(std::string_view name) const {
  const Json* value = object_.find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Error FieldReader::wrong(std::string_view name, std::string_view wanted) const {
  const Json* value = object_.find(name);
  return {ErrorCode::kInvalidArgument,
          fmt::format("'{}' is {}, not {}", path(name),
                      value == nullptr ? "missing" : value->kind_name(), wanted),
          path(name)};
}

Result<std::optional<int64_t>> FieldReader::integer(std::string_view name, int64_t minimum,
                                                    int64_t maximum) const {
  const Json* value = find(name);
  if (value == nullptr) return std::optional<int64_t>();
  std::optional<int64_t> number = value->to_int64();
  // 5.0 is how some languages write 5.
  const auto real = value->to_double();
  if (!number && real && *real == std::floor(*real) && std::abs(*real) < 9e15) {
    number = static_cast<int64_t>(*real);
  }
  if (!number && !real) return wrong(name, "an integer");
  if (!number || *number < minimum || *number > maximum) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' is {}, outside of the integers {} to {}", path(name),
                             number ? std::to_string(*number) : shown(*real), minimum, maximum),
                 path(name)};
  }
  return number;
}

Result<std::optional<double>> FieldReader::number(std::string_view name, double minimum,
                                                  double maximum) const {
  const Json* value = find(name);
  if (value == nullptr) return std::optional<double>();
  const std::optional<double> number = value->to_double();
  if (!number) return wrong(name, "a number");
  if (!(*number >= minimum && *number <= maximum)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' is {}, outside of {} to {}", path(name), shown(*number),
                             shown(minimum), shown(maximum)),
                 path(name)};
  }
  return number;
}

Result<bool> FieldReader::boolean(std::string_view name, bool standard) const {
  const Json* value = find(name);
  if (value == nullptr) return standard;
  const std::optional<bool> given = value->to_bool();
  if (!given) return wrong(name, "true or false");
  return *given;
}

Result<std::optional<std::string>> FieldReader::text(std::string_view name,
                                                     size_t max_bytes) const {
  const Json* value = find(name);
  if (value == nullptr) return std::optional<std::string>();
  const std::string* given = value->as_string();
  if (given == nullptr) return wrong(name, "a string");
  if (given->size() > max_bytes) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' has {} bytes, at most {} are allowed", path(name), given->size(),
                             max_bytes),
                 path(name)};
  }
  return std::optional<std::string>(*given);
}

}  // namespace pawl::server
