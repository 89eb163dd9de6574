// SPDX-License-Identifier: Apache-2.0
// The routes that tell how things stand: of the server, its model, and single requests.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "server/api.h"

namespace pawl::server {

using base::Json;

namespace {

HttpReply json_reply(const Json& body, int status = 200) {
  HttpReply reply;
  reply.status = status;
  reply.body = body.dump();
  return reply;
}

}  // namespace

HttpReply Api::health() const {
  Json body;
  body["status"] = "ok";
  return json_reply(body);
}

HttpReply Api::ready() const {
  if (const auto error = state_error()) return error_reply(*error);
  Json body;
  body["status"] = "ready";
  return json_reply(body);
}

HttpReply Api::metrics() const {
  HttpReply reply;
  reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
  if (records_.metrics_text) reply.body = records_.metrics_text();
  return reply;
}

HttpReply Api::models(const std::string& id, bool is_list) const {
  const auto served = model();
  Json entry;
  entry["id"] = served->name;
  entry["object"] = "model";
  entry["created"] = served->created_s;
  entry["owned_by"] = "pawl";
  entry["max_model_len"] = served->context;
  if (!is_list) {
    if (id == served->name) return json_reply(entry);
    return error_reply({404, "the model " + base::quoted_text(id) + " is not served here",
                        "invalid_request_error", "model_not_found", "model", 0});
  }
  Json body;
  body["object"] = "list";
  body["data"].push_back(std::move(entry));
  return json_reply(body);
}

HttpReply Api::props() const {
  const auto served = model();
  const Limits& limits = options_.limits;
  Json body;
  body["version"] = options_.version;
  body["model"] = served->name;
  body["context"] = served->context;
  body["trained_context"] = served->trained_context;
  body["vocabulary"] = static_cast<int64_t>(served->tokenizer->vocab().size());
  body["end_tokens"] = Json::array_of(
      {served->tokenizer->vocab().end_ids().begin(), served->tokenizer->vocab().end_ids().end()});
  body["has_chat_template"] = static_cast<bool>(served->render);
  body["properties"] = served->properties;
  Json& json = body["limits"];
  json["body_bytes"] = static_cast<int64_t>(limits.body_bytes);
  json["choices"] = limits.choices;
  json["prompts"] = limits.prompts;
  json["messages"] = limits.messages;
  json["stop_strings"] = limits.stop_strings;
  json["logit_biases"] = limits.logit_biases;
  json["tools"] = limits.tools;
  return json_reply(body);
}

// ?limit=N: as many of the newest at most. Those that run come first.
HttpReply Api::list_requests(const Admission& admission, const HttpRequest& request) const {
  constexpr int64_t kMost = 1000;
  int64_t limit = 100;
  if (!request.query.empty()) {
    constexpr std::string_view kLimit = "limit=";
    const std::string_view query = request.query;
    const char* end = query.data() + query.size();
    const char* begin = query.data() + std::min(kLimit.size(), query.size());
    const auto [stop, failure] = std::from_chars(begin, end, limit);
    if (!query.starts_with(kLimit) || failure != std::errc() || stop != end || limit < 1 ||
        limit > kMost) {
      return error_reply(bad_request(fmt::format("the query {} is not 'limit=' and 1 to {}",
                                                 base::quoted_text(query), kMost)));
    }
  }
  Json body;
  body["object"] = "list";
  body["data"] = Json::array();
  for (const LedgerRow& row : table_.newest(admission.key_name, static_cast<size_t>(limit))) {
    Json entry = row_json(row);
    entry["object"] = "request";
    body["data"].push_back(std::move(entry));
  }
  return json_reply(body);
}

HttpReply Api::show_request(const Admission& admission) {
  std::optional<LedgerRow> row;
  if (const auto live = table_.find_live(admission.id, admission.key_name)) {
    row = live->snapshot();
  } else {
    row = table_.find_over(admission.id, admission.key_name);
  }
  if (!row && records_.lookup) {
    auto stored = records_.lookup(admission.id);
    if (!stored.ok()) return error_reply(to_api_error(stored.error()));
    if (*stored && (*stored)->key_name == admission.key_name) row = **stored;
  }
  if (!row) return error_reply(not_found("there is no request " + base::quoted_text(admission.id)));
  Json body = row_json(*row);
  body["object"] = "request";
  return json_reply(body);
}

HttpReply Api::cancel_request(const Admission& admission) {
  const auto live = table_.find_live(admission.id, admission.key_name);
  if (!live) {
    const auto over = table_.find_over(admission.id, admission.key_name);
    if (!over) {
      return error_reply(not_found("there is no request " + base::quoted_text(admission.id)));
    }
  }
  Json body;
  body["id"] = live ? live->id() : admission.id;
  body["object"] = "request";
  body["cancelled"] = live != nullptr && live->cancel(CancelCause::kDeleted);
  return json_reply(body);
}

}  // namespace pawl::server
