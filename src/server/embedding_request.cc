// SPDX-License-Identifier: Apache-2.0
#include "server/embedding_request.h"

#include <fmt/format.h>

#include <iterator>

#include "base/digest.h"
#include "base/utf8.h"
#include "server/json_text.h"

namespace pawl::server {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

Result<GenerationRequest::Embedding> read_form(const FieldReader& fields,
                                               const ServedModel& model) {
  GenerationRequest::Embedding form;
  PAWL_TRY(const auto encoding, fields.text("encoding_format", 64));
  if (encoding && *encoding != "float" && *encoding != "base64") {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'encoding_format' can be float or base64, not {}",
                             base::quoted_text(*encoding)),
                 "encoding_format"};
  }
  form.is_base64 = encoding == "base64";
  PAWL_TRY(const auto dimensions, fields.integer("dimensions", 1, INT32_MAX));
  if (dimensions && *dimensions != model.width) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("'dimensions' is {}, and vectors of this model have {} numbers: "
                             "shorter ones are not supported",
                             *dimensions, model.width),
                 "dimensions"};
  }
  PAWL_TRY(const auto pooling, fields.text("pooling", 64));
  form.pooling = model.pooling;
  if (pooling) {
    const auto found = engine::find_pooling(*pooling);
    if (!found) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("'pooling' can be mean, last or cls, not {}", base::quoted_text(*pooling)),
          "pooling"};
    }
    form.pooling = *found;
  }
  PAWL_TRY(form.is_normalised, fields.boolean("normalize", true));
  return form;
}

}  // namespace

Result<GenerationRequest> read_embeddings(const Json& body, const Limits& limits,
                                          const ServedModel& model) {
  PAWL_TRY_VOID(check_fields(body, Route::kEmbeddings));
  const FieldReader fields(body);
  GenerationRequest request;
  request.route = Route::kEmbeddings;
  PAWL_TRY_VOID(read_scheduling(fields, limits, request));
  PAWL_TRY(request.embedding, read_form(fields, model));
  PAWL_TRY(request.prompts, read_prompts(body, "input", limits.prompts, *model.tokenizer));
  for (size_t i = 0; i < request.prompts.size(); ++i) {
    const auto size = static_cast<int64_t>(request.prompts[i].size());
    if (size > 0 && size <= model.context) continue;
    return Error{ErrorCode::kInvalidArgument,
                 size == 0 ? fmt::format("'input': text {} has no token", i)
                           : fmt::format("'input': text {} has {} tokens, context {}", i, size,
                                         model.context),
                 "input"};
  }
  return request;
}

std::string embeddings_reply(std::string_view model, bool is_base64,
                             std::span<const std::span<const float>> vectors,
                             int64_t prompt_tokens) {
  std::string body = R"({"object":"list","data":[)";
  for (size_t i = 0; i < vectors.size(); ++i) {
    fmt::format_to(std::back_inserter(body), R"({}{{"object":"embedding","index":{},"embedding":)",
                   i == 0 ? "" : ",", i);
    if (is_base64) {
      body += '"' + base::base64(std::as_bytes(vectors[i])) + '"';
    } else {
      body += '[';
      // As many digits as bring the same float back.
      for (size_t n = 0; n < vectors[i].size(); ++n)
        fmt::format_to(std::back_inserter(body), "{}{}", n == 0 ? "" : ",", vectors[i][n]);
      body += ']';
    }
    body += '}';
  }
  body += "],\"model\":";
  append_quoted(model, body);
  fmt::format_to(std::back_inserter(body), R"(,"usage":{{"prompt_tokens":{},"total_tokens":{}}}}})",
                 prompt_tokens, prompt_tokens);
  return body;
}

}  // namespace pawl::server
