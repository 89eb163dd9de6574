// SPDX-License-Identifier: Apache-2.0
// The routes that a worker does: they parse, render and tokenize.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/utf8.h"
#include "server/answer_format.h"
#include "server/api.h"
#include "server/chat_request.h"
#include "server/embedding_request.h"
#include "server/tool_calls.h"

namespace pawl::server {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

Result<void> check_model(const Json& body, const ServedModel& model) {
  PAWL_TRY(const auto name, FieldReader(body).text("model", 1024));
  if (!name || *name == model.name) return {};
  return Error{ErrorCode::kNotFound,
               fmt::format("the model {} is not served here; there is '{}'",
                           base::quoted_text(*name), model.name),
               "model"};
}

Result<void> add_tools(const grammar::ToolUse& use, const ServedModel& model,
                       GenerationRequest& wanted) {
  // Without a spelling of its own, a model is not made to call: what it says is text.
  if (!use.must_call && use.style->trigger.empty()) return {};
  auto compiled = model.compile_tools(use);
  if (!compiled.ok()) {
    Error error = compiled.error();
    error.message = "'tools': " + error.message;
    error.where = "tools";
    return error;
  }
  wanted.format = std::move(*compiled);
  wanted.tool_style = use.style;
  return {};
}

// Compiles what the answer is to look like. What cannot be obeyed is said before anything is made.
Result<void> add_format(const Json& body, const ServedModel& model, GenerationRequest& wanted) {
  PAWL_TRY(auto format, read_answer_format(body));
  if (format) format->description.thinks = wanted.thinks;
  PAWL_TRY(wanted.closes_json, read_json_budget(body, format ? &*format : nullptr));
  if (wanted.route == Route::kChat && model.tool_style != nullptr) {
    PAWL_TRY(auto use, read_tool_use(body, *model.tool_style));
    if (use) use->thinks = wanted.thinks;
    if (use && format && use->must_call) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("'{}' and a call that 'tool_choice' asks for exclude each other",
                               format->field),
                   format->field};
    }
    if (use && !format) return add_tools(*use, model, wanted);
  }
  if (!format) return {};
  if (!model.compile) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("'{}': this model gives free text only", format->field),
                 format->field};
  }
  auto compiled = model.compile(format->description);
  if (!compiled.ok()) {
    Error error = compiled.error();
    error.message = fmt::format("'{}': {}", format->field, error.message);
    error.where = format->field + error.where;
    return error;
  }
  wanted.format = std::move(*compiled);
  return {};
}

Result<GenerationRequest> read_generation(const HttpRequest& request, Route route,
                                          const Limits& limits, const ServedModel& model) {
  PAWL_TRY(const Json body, parse_body(request.body, limits));
  PAWL_TRY_VOID(check_model(body, model));
  if (route == Route::kEmbeddings) return read_embeddings(body, limits, model);
  PAWL_TRY(GenerationRequest wanted,
           route == Route::kChat ? read_chat(body, limits, model)
                                 : read_completion(body, limits, model.context, *model.tokenizer));
  PAWL_TRY_VOID(add_format(body, model, wanted));
  return wanted;
}

// What holds one answer to its format.
Result<std::shared_ptr<policy::Constraint>> constraint_of(const GenerationRequest& wanted,
                                                          int sequence, int64_t context) {
  if (wanted.format == nullptr) return std::shared_ptr<policy::Constraint>();
  if (!wanted.closes_json) return wanted.format->constraint();
  const auto& prompt = wanted.prompts[static_cast<size_t>(sequence / wanted.choices)];
  const int64_t room = context - static_cast<int64_t>(prompt.size());
  auto made = wanted.format->closing_constraint(std::min(wanted.max_tokens, room));
  if (made.ok()) return made;
  return Error{made.error().code, "'json_budget': " + made.error().message, "json_budget"};
}

engine::Request engine_request(const GenerationRequest& wanted, int sequence, int64_t received_ns) {
  engine::Request request;
  request.prompt = wanted.prompts[static_cast<size_t>(sequence / wanted.choices)];
  request.policy = wanted.policy;
  request.policy.seed += static_cast<uint64_t>(sequence % wanted.choices);
  request.stops = {wanted.stops, wanted.max_tokens};
  if (wanted.embedding) {
    request.pooling = wanted.embedding->pooling;
    request.is_normalised = wanted.embedding->is_normalised;
  }
  request.prompt_logprobs = wanted.wants_echo && wanted.wants_logprobs;
  request.priority = wanted.priority;
  request.draft_tokens = wanted.draft_tokens;
  request.cache_salt = wanted.cache_salt;
  request.received_ns = received_ns;
  if (wanted.timeout_ms > 0) request.deadline_ns = received_ns + wanted.timeout_ms * 1'000'000;
  return request;
}

Route route_of(Endpoint endpoint) {
  if (endpoint == Endpoint::kChat) return Route::kChat;
  return endpoint == Endpoint::kEmbeddings ? Route::kEmbeddings : Route::kCompletion;
}

std::string_view id_prefix(Route route) {
  if (route == Route::kChat) return "chatcmpl-";
  return route == Route::kEmbeddings ? "embd-" : "cmpl-";
}

// A traceparent is recorded when it has the form of the W3C recommendation (section 3.2).
std::string trace_parent(const HttpRequest& request) {
  const std::string_view value = request.header("traceparent");
  constexpr std::string_view kForm = "xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
  if (value.size() != kForm.size()) return {};
  for (size_t i = 0; i < value.size(); ++i) {
    const bool is_hex =
        (value[i] >= '0' && value[i] <= '9') || (value[i] >= 'a' && value[i] <= 'f');
    if (kForm[i] == '-' ? value[i] != '-' : !is_hex) return {};
  }
  return std::string(value);
}

}  // namespace

Outcome Api::generate(const Admission& admission, const HttpRequest& request) {
  const auto served = model();
  const Route route = route_of(admission.row->endpoint);
  auto wanted = read_generation(request, route, options_.limits, *served);
  if (!wanted.ok()) return {error_reply(to_api_error(wanted.error())), nullptr};
  if (options_.logs_prompts) {
    Json line;
    line["event"] = "prompt";
    line["request_id"] = request.request_id;
    line["body"] = request.body;
    base::log_info(line.dump());
  }
  auto stream = start(admission, request, std::move(*wanted), served);
  if (!stream.ok()) return {error_reply(to_api_error(stream.error())), nullptr};
  return {{}, std::move(*stream)};
}

Result<std::shared_ptr<ReplyStream>> Api::start(const Admission& admission,
                                                const HttpRequest& request,
                                                GenerationRequest wanted,
                                                std::shared_ptr<const ServedModel> served) {
  LedgerRow row;
  row.id = std::string(id_prefix(wanted.route)) + random_id();
  row.received_ms = utc_now_ms();
  row.key_name = admission.key_name;
  row.model = served->name;
  row.route = admission.row->pattern;
  row.trace_parent = trace_parent(request);
  row.is_stream = wanted.is_stream;
  for (const auto& prompt : wanted.prompts)
    row.prompt_tokens += static_cast<int64_t>(prompt.size());
  ReplyHead head{wanted.route,       row.id, row.received_ms / 1000, served->name,
                 wanted.policy.seed, {}};
  if (wanted.format != nullptr) head.notes = wanted.format->notes();

  const int sequences = wanted.sequences();
  std::vector<std::shared_ptr<policy::Constraint>> constraints(static_cast<size_t>(sequences));
  for (int i = 0; i < sequences; ++i) {
    PAWL_TRY(constraints[static_cast<size_t>(i)], constraint_of(wanted, i, served->context));
  }
  LiveRequest::Ways ways;
  ways.wake_engine = [served] { served->wake(); };
  ways.post_delivery = [post = post_](std::shared_ptr<LiveRequest> live) {
    post([live = std::move(live)] { live->deliver(); });
  };
  ways.on_over = [this](LiveRequest& live) { finish(live); };
  const auto live = std::make_shared<LiveRequest>(row, request.request_id, sequences,
                                                  request.received_ns, options_.limits.unsent_bytes,
                                                  wanted.wants_logprobs, std::move(ways));
  for (int i = 0; i < sequences; ++i) {
    engine::Request one = engine_request(wanted, i, request.received_ns);
    // Requests of different keys share no prefixes: how fast one is would tell what another asked.
    one.cache_salt = admission.key_name + '\n' + one.cache_salt;
    one.constraint = std::move(constraints[static_cast<size_t>(i)]);
    one.stop_token = live->stop_token();
    one.sink = live->make_sink(i);
    auto accepted = served->submit(std::move(one));
    if (accepted.ok()) continue;
    for (int j = i; j < sequences; ++j) live->drop_sink(j);
    live->cancel(CancelCause::kNone);
    return std::move(accepted).error();
  }
  table_.add(live);
  if (records_.begin && !records_.begin(row)) {
    table_.retire(*live, row);
    live->cancel(CancelCause::kNone);
    return Error{ErrorCode::kUnavailable, "the ledger cannot keep up with the requests", ""};
  }
  return std::make_shared<ReplyStream>(live, std::move(wanted), head, served, *served->tokenizer,
                                       records_.clock);
}

HttpReply Api::tokenize(const HttpRequest& request) {
  const auto served = model();
  const auto answer = [&]() -> Result<Json> {
    PAWL_TRY(const Json body, parse_body(request.body, options_.limits));
    PAWL_TRY_VOID(check_model(body, *served));
    const FieldReader fields(body);
    std::vector<base::TokenId> ids;
    if (fields.find("messages") != nullptr) {
      PAWL_TRY(const ChatInput input, read_chat_input(body, options_.limits));
      PAWL_TRY(ids, render_chat(*served, input));
    } else {
      const char* name = fields.find("prompt") != nullptr ? "prompt" : "content";
      PAWL_TRY(const auto text, fields.text(name, options_.limits.body_bytes));
      if (!text) return fields.wrong("prompt", "a string");
      text::EncodeOptions encode;
      PAWL_TRY(encode.add_bos, fields.boolean("add_special_tokens", true));
      PAWL_TRY(encode.parse_special, fields.boolean("parse_special", false));
      PAWL_TRY(ids, served->tokenizer->encode(*text, encode));
    }
    PAWL_TRY(const bool wants_pieces, fields.boolean("with_pieces", false));
    Json reply;
    reply["tokens"] = Json::array_of({ids.begin(), ids.end()});
    reply["count"] = static_cast<int64_t>(ids.size());
    reply["max_model_len"] = served->context;
    if (wants_pieces) {
      reply["pieces"] = Json::array();
      for (const base::TokenId id : ids) {
        std::string piece;
        served->tokenizer->append_piece(id, true, piece);
        reply["pieces"].push_back(std::move(piece));
      }
    }
    return reply;
  }();
  if (!answer.ok()) return error_reply(to_api_error(answer.error()));
  HttpReply reply;
  reply.body = answer->dump();
  return reply;
}

HttpReply Api::detokenize(const HttpRequest& request) {
  const auto served = model();
  const auto answer = [&]() -> Result<Json> {
    PAWL_TRY(const Json body, parse_body(request.body, options_.limits));
    PAWL_TRY_VOID(check_model(body, *served));
    const FieldReader fields(body);
    const Json* tokens = fields.find("tokens");
    if (tokens == nullptr || tokens->as_array() == nullptr) {
      return fields.wrong("tokens", "an array of token ids");
    }
    std::vector<base::TokenId> ids;
    for (const Json& item : *tokens->as_array()) {
      const auto id = item.to_int64();
      if (!id) return fields.wrong("tokens", "an array of token ids");
      auto known = served->tokenizer->vocab().check(*id);
      if (!known.ok()) return Error{ErrorCode::kInvalidArgument, known.error().message, "tokens"};
      ids.push_back(static_cast<base::TokenId>(*id));
    }
    PAWL_TRY(const bool is_special, fields.boolean("special", false));
    PAWL_TRY(std::string text, served->tokenizer->decode(ids, is_special));
    PAWL_TRY(const bool wants_bytes, fields.boolean("with_bytes", false));
    Json reply;
    reply["text"] = std::move(text);
    if (wants_bytes) {
      reply["bytes"] = Json::array();
      for (const base::TokenId id : ids) {
        std::string piece;
        served->tokenizer->append_piece(id, true, piece);
        const std::vector<unsigned char> bytes(piece.begin(), piece.end());
        reply["bytes"].push_back(Json::array_of({bytes.begin(), bytes.end()}));
      }
    }
    return reply;
  }();
  if (!answer.ok()) return error_reply(to_api_error(answer.error()));
  HttpReply reply;
  reply.body = answer->dump();
  return reply;
}

}  // namespace pawl::server
