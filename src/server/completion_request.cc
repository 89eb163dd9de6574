// SPDX-License-Identifier: Apache-2.0
// POST /v1/completions, and prompts in each of the forms they may have.
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

Result<std::vector<std::vector<base::TokenId>>> read_prompts(const Json& body,
                                                             std::string_view field, int most,
                                                             const text::Tokenizer& tokenizer) {
  const FieldReader fields(body);
  std::vector<std::vector<base::TokenId>> prompts;
  const Json* prompt = fields.find(field);
  if (prompt == nullptr) return wrong_value(field, fmt::format("'{}' is missing", field));
  const Json::Array* items = prompt->as_array();
  if (prompt->as_string() != nullptr) {
    PAWL_TRY(auto ids, tokenizer.encode(*prompt->as_string()));
    prompts.push_back(std::move(ids));
    return prompts;
  }
  if (items == nullptr)
    return fields.wrong(field, "a text, an array of texts, of ids, or of arrays of ids");
  if (!items->empty() && items->front().to_double()) {
    PAWL_TRY(auto ids, read_ids(field, *items, tokenizer.vocab()));
    prompts.push_back(std::move(ids));
    return prompts;
  }
  if (items->empty()) return wrong_value(field, fmt::format("'{}' is an empty array", field));
  if (items->size() > static_cast<size_t>(most)) {
    return wrong_value(field, fmt::format("'{}' has {} entries, at most {} are allowed", field,
                                          items->size(), most));
  }
  for (const Json& item : *items) {
    if (item.as_string() != nullptr) {
      PAWL_TRY(auto ids, tokenizer.encode(*item.as_string()));
      prompts.push_back(std::move(ids));
    } else if (item.as_array() != nullptr) {
      PAWL_TRY(auto ids, read_ids(field, *item.as_array(), tokenizer.vocab()));
      prompts.push_back(std::move(ids));
    } else {
      return wrong_value(field, fmt::format("'{}' holds {}, not a text or an array of ids", field,
                                            item.kind_name()));
    }
  }
  return prompts;
}

Result<GenerationRequest> read_completion(const Json& body, const Limits& limits, int64_t context,
                                          const text::Tokenizer& tokenizer) {
  PAWL_TRY(GenerationRequest request, read_common(body, Route::kCompletion, limits, tokenizer));
  PAWL_TRY(request.wants_echo, FieldReader(body).boolean("echo", false));
  PAWL_TRY(request.prompts, read_prompts(body, "prompt", limits.prompts, tokenizer));
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
