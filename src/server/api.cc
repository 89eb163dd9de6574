// SPDX-License-Identifier: Apache-2.0
#include "server/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

#include "base/log.h"
#include "base/utf8.h"
#include "server/web_files.h"

namespace pawl::server {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr std::string_view kBearer = "bearer ";

bool starts_with_bearer(std::string_view value) {
  if (value.size() < kBearer.size()) return false;
  return std::equal(kBearer.begin(), kBearer.end(), value.begin(), [](char wanted, char given) {
    return wanted == (given >= 'A' && given <= 'Z' ? given - 'A' + 'a' : given);
  });
}

std::string_view key_of(const HttpRequest& request) {
  const std::string_view authorization = request.header("authorization");
  if (starts_with_bearer(authorization)) return authorization.substr(kBearer.size());
  return request.header("x-api-key");
}

}  // namespace

std::string random_id() {
  static constexpr std::string_view kLetters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::random_device device;
  std::uniform_int_distribution<size_t> letter(0, kLetters.size() - 1);
  std::string id;
  for (int i = 0; i < 24; ++i) id += kLetters[letter(device)];
  return id;
}

Result<Json> parse_body(std::string_view body, const Limits& limits) {
  if (body.empty()) return Error{ErrorCode::kBadFile, "the body is empty, not a JSON object", ""};
  const size_t valid = base::utf8_valid_prefix(body);
  if (valid < body.size()) {
    return Error{ErrorCode::kBadFile, fmt::format("the body is not UTF-8 at byte {}", valid), ""};
  }
  auto json = base::parse_json(body, {.depth = limits.json_depth, .bytes = limits.body_bytes});
  if (!json.ok()) return Error{ErrorCode::kBadFile, "the body: " + json.error().message, ""};
  if (json->as_object() == nullptr) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the body is {}, not a JSON object", json->kind_name()), ""};
  }
  return json;
}

Api::Api(ApiOptions options, Records records, std::function<void(std::function<void()>)> post,
         const base::Clock& clock)
    : options_(std::move(options)),
      origins_(options_.cors_origins, options_.is_loopback),
      records_(std::move(records)),
      post_(std::move(post)),
      clock_(clock) {}

void Api::set_model(std::shared_ptr<const ServedModel> model) {
  const std::scoped_lock lock(mutex_);
  model_ = std::move(model);
  if (state_ == State::kLoading) state_ = State::kReady;
}

void Api::set_failed(std::string why) {
  const std::scoped_lock lock(mutex_);
  failure_ = std::move(why);
  state_ = State::kFailed;
}

void Api::set_keys(std::shared_ptr<const ApiKeys> keys) {
  const std::scoped_lock lock(mutex_);
  keys_ = std::move(keys);
}

void Api::set_draining() {
  const std::scoped_lock lock(mutex_);
  state_ = State::kDraining;
}

std::shared_ptr<const ServedModel> Api::model() const {
  const std::scoped_lock lock(mutex_);
  return model_;
}

std::optional<ApiError> Api::state_error() const {
  const std::scoped_lock lock(mutex_);
  switch (state_) {
    case State::kReady:
      return std::nullopt;
    case State::kLoading:
      return unavailable("the model is being loaded", "loading");
    case State::kFailed:
      return unavailable("the model could not be loaded: " + failure_, "failed");
    case State::kDraining:
      return unavailable("the server is shutting down", "shutdown");
  }
  return std::nullopt;
}

// The name of the request's key; nothing when it has none that is known. Error: none was given.
Result<std::optional<std::string>> Api::key_name(const HttpRequest& request) const {
  std::shared_ptr<const ApiKeys> keys;
  {
    const std::scoped_lock lock(mutex_);
    keys = keys_;
  }
  if (!keys) return std::optional<std::string>("");
  const std::string_view key = key_of(request);
  if (key.empty()) return Error{ErrorCode::kInvalidArgument, "no key", ""};
  return keys->find(key);
}

Admission Api::admit(const HttpRequest& request) const {
  Admission admission;
  const auto refuse = [&](const ApiError& error) {
    admission.row = nullptr;
    admission.refusal = error_reply(error);
    return admission;
  };
  if (const std::string why = origins_.refusal(request); !why.empty())
    return refuse(forbidden(why));
  Match match = match_route(request.method, request.path);
  if (match.allowed.empty()) {
    return refuse(not_found("there is no " + base::quoted_text(request.path)));
  }
  if (request.method == "OPTIONS") {
    admission.refusal = origins_.preflight(request, match.allowed);
    return admission;
  }
  if (match.row == nullptr) {
    refuse(method_not_allowed(fmt::format("{} takes {}", request.path, match.allowed)));
    admission.refusal->headers.emplace_back("Allow", match.allowed);
    return admission;
  }
  if (match.row->needs_key) {
    const auto name = key_name(request);
    if (!name.ok() || !*name) {
      refuse(unauthorized(!name.ok()));
      admission.refusal->headers.emplace_back("WWW-Authenticate", "Bearer");
      return admission;
    }
    admission.key_name = **name;
  }
  if (match.row->needs_model) {
    if (const auto error = state_error()) return refuse(*error);
  }
  admission.row = match.row;
  admission.id = std::move(match.id);
  return admission;
}

Outcome Api::handle(const Admission& admission, const HttpRequest& request) {
  switch (admission.row->endpoint) {
    case Endpoint::kChat:
    case Endpoint::kCompletion:
    case Endpoint::kEmbeddings:
      return generate(admission, request);
    case Endpoint::kTokenize:
      return {tokenize(request), nullptr};
    case Endpoint::kDetokenize:
      return {detokenize(request), nullptr};
    case Endpoint::kModels:
      return {models("", true), nullptr};
    case Endpoint::kModel:
      return {models(admission.id, false), nullptr};
    case Endpoint::kRequests:
      return {list_requests(admission, request), nullptr};
    case Endpoint::kRequest:
      return {show_request(admission), nullptr};
    case Endpoint::kCancel:
      return {cancel_request(admission), nullptr};
    case Endpoint::kHealth:
      return {health(), nullptr};
    case Endpoint::kReady:
      return {ready(), nullptr};
    case Endpoint::kMetrics:
      return {metrics(), nullptr};
    case Endpoint::kProps:
      return {props(), nullptr};
    case Endpoint::kPage:
      return {web_reply(request, admission.id), nullptr};
  }
  return {error_reply({}), nullptr};
}

Headers Api::common_headers(const HttpRequest& request) const {
  Headers headers;
  headers.emplace_back("x-request-id", request.request_id);
  origins_.add_headers(request, headers);
  return headers;
}

void Api::log_reply(const HttpRequest& request, const Admission& admission, int status,
                    std::string_view reply_id) {
  if (records_.response) {
    records_.response(admission.row == nullptr ? "other" : admission.row->pattern, status);
  }
  Json line;
  line["event"] = "reply";
  line["request_id"] = request.request_id;
  if (!reply_id.empty()) line["id"] = reply_id;
  line["method"] = request.method;
  line["path"] = request.path.substr(0, 128);
  line["status"] = status;
  line["ms"] = static_cast<double>(clock_.now_ns() - request.received_ns) / 1e6;
  line["peer"] = request.peer;
  if (!admission.key_name.empty()) line["key"] = admission.key_name;
  if (const auto trace = request.header("traceparent"); !trace.empty()) {
    line["traceparent"] = trace.substr(0, 128);
  }
  base::log_info(line.dump());
}

void Api::cancel_all(CancelCause cause) {
  for (const auto& request : table_.live()) request->cancel(cause);
}

void Api::finish(LiveRequest& request) {
  const LedgerRow row = request.snapshot();
  if (!table_.retire(request, row)) return;  // it was refused after all
  if (records_.end) records_.end(row);
  Json line;
  line["event"] = "finished";
  line["id"] = row.id;
  line["state"] = row_state_name(row.state);
  if (row.cause != CancelCause::kNone) line["cause"] = cancel_cause_name(row.cause);
  if (!row.error.empty()) line["error"] = row.error;
  line["prompt_tokens"] = row.prompt_tokens;
  line["cached_tokens"] = row.cached_tokens;
  line["completion_tokens"] = row.completion_tokens;
  line["delivered_tokens"] = row.delivered_tokens;
  line["queue_ms"] = row.queue_ms;
  line["prefill_ms"] = row.prefill_ms;
  line["decode_ms"] = row.decode_ms;
  line["total_ms"] = row.total_ms;
  base::log_info(line.dump());
  if (over_hook_) over_hook_();
}

}  // namespace pawl::server
