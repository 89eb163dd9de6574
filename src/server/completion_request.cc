// SPDX-License-Identifier: Apache-2.0
// POST /v1/completions: the prompts, in each of the forms they may have.
#include <fmt/format.h>

#include "server/generation_request.h"

namespace pawl::server {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

Error wrong_value(std::string_view field, std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message), std::string(field)};
}

}  // namespace

Result<GenerationRequest> read_completion(const Json& body, const Limits& limits, int64_t context,
                                          const text::Tokenizer& tokenizer) {
  PAWL_TRY(GenerationRequest request, read_common(body, Route::kCompletion, limits, tokenizer));
  const FieldReader fields(body);
  PAWL_TRY(request.wants_echo, fields.boolean("echo", false));
  const Json* prompt = fields.find("prompt");
  if (prompt == nullptr) return wrong_value("prompt", "'prompt' is missing");

  const auto add_text = [&](const std::string& text) -> Result<void> {
    PAWL_TRY(auto ids, tokenizer.encode(text));
    request.prompts.push_back(std::move(ids));
    return {};
  };
  const Json::Array* items = prompt->as_array();
  if (prompt->as_string() != nullptr) {
    PAWL_TRY_VOID(add_text(*prompt->as_string()));
  } else if (items == nullptr) {
    return fields.wrong("prompt", "a text, an array of texts, of ids, or of arrays of ids");
  } else if (!items->empty() && items->front().to_double()) {
    PAWL_TRY(auto ids, read_ids("prompt", *items, tokenizer.vocab()));
    request.prompts.push_back(std::move(ids));
  } else {
    if (items->empty()) return wrong_value("prompt", "'prompt' is an empty array");
    if (items->size() > static_cast<size_t>(limits.prompts)) {
      return wrong_value("prompt", fmt::format("'prompt' has {} entries, at most {} are allowed",
                                               items->size(), limits.prompts));
    }
    for (const Json& item : *items) {
      if (item.as_string() != nullptr) {
        PAWL_TRY_VOID(add_text(*item.as_string()));
      } else if (item.as_array() != nullptr) {
        PAWL_TRY(auto ids, read_ids("prompt", *item.as_array(), tokenizer.vocab()));
        request.prompts.push_back(std::move(ids));
      } else {
        return wrong_value("prompt", fmt::format("'prompt' holds {}, not a text or an array of ids",
                                                 item.kind_name()));
      }
    }
  }
  if (request.sequences() > limits.choices) {
    return wrong_value("n", fmt::format("{} prompts with {} choices each are {}, at most {} are "
                                        "allowed",
                                        request.prompts.size(), request.choices,
                                        request.sequences(), limits.choices));
  }
  PAWL_TRY_VOID(fit_prompts(body, context, request));
  return request;
}

}  // namespace pawl::server
