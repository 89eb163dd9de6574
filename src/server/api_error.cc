// SPDX-License-Identifier: Apache-2.0
#include "server/api_error.h"

#include "base/json.h"

namespace pawl::server {

using base::ErrorCode;
using base::Json;

namespace {

constexpr const char* kInvalid = "invalid_request_error";

struct Row {
  ErrorCode code;
  int status;
  const char* type;
  const char* name;  // error.code; null: none
};

constexpr Row kRows[] = {
    {ErrorCode::kInvalidArgument, 400, kInvalid, nullptr},
    {ErrorCode::kBadFile, 400, kInvalid, "invalid_json"},
    {ErrorCode::kUnsupported, 400, kInvalid, "unsupported"},
    {ErrorCode::kNotFound, 404, kInvalid, "not_found"},
    {ErrorCode::kOutOfMemory, 503, "server_error", "out_of_memory"},
    {ErrorCode::kIo, 500, "server_error", "io"},
    {ErrorCode::kNetwork, 502, "server_error", "network"},
    {ErrorCode::kCancelled, 499, "cancelled", "cancelled"},
    {ErrorCode::kOverloaded, 429, "rate_limit_error", "overloaded"},
    {ErrorCode::kUnavailable, 503, "server_error", "unavailable"},
};

}  // namespace

ApiError to_api_error(const base::Error& error) {
  for (const Row& row : kRows) {
    if (row.code != error.code) continue;
    ApiError made{
        row.status, error.message, row.type, row.name == nullptr ? "" : row.name, error.where, 0};
    if (row.status == 429 || row.status == 503) made.retry_after_s = 1;
    if (error.where == "model" && error.code == ErrorCode::kNotFound) made.code = "model_not_found";
    return made;
  }
  return {500, error.message, "server_error", "", error.where, 0};
}

std::string error_json(const ApiError& error) {
  Json object;
  Json& inner = object["error"];
  inner["message"] = error.message;
  inner["type"] = error.type;
  inner["param"] = error.param.empty() ? Json() : Json(error.param);
  inner["code"] = error.code.empty() ? Json() : Json(error.code);
  return object.dump();
}

HttpReply error_reply(const ApiError& error) {
  HttpReply reply;
  reply.status = error.status;
  reply.body = error_json(error);
  if (error.retry_after_s > 0) {
    reply.headers.emplace_back("Retry-After", std::to_string(error.retry_after_s));
  }
  // Doing it again by itself would do the same work for nothing.
  if (error.status == 499 || error.code == "deadline") {
    reply.headers.emplace_back("x-should-retry", "false");
  }
  return reply;
}

ApiError bad_request(std::string message, std::string param) {
  return {400, std::move(message), kInvalid, "", std::move(param), 0};
}

ApiError not_found(std::string message) {
  return {404, std::move(message), kInvalid, "not_found", "", 0};
}

ApiError unauthorized(bool is_missing) {
  return {401,
          is_missing ? "no API key was given; send the header 'Authorization: Bearer KEY'"
                     : "the API key is not one of those that this server knows",
          kInvalid,
          "invalid_api_key",
          "",
          0};
}

ApiError forbidden(std::string message) {
  return {403, std::move(message), kInvalid, "forbidden", "", 0};
}

ApiError method_not_allowed(std::string message) {
  return {405, std::move(message), kInvalid, "method_not_allowed", "", 0};
}

ApiError too_large(int status, std::string message) {
  return {status, std::move(message), kInvalid, "too_large", "", 0};
}

ApiError unavailable(std::string message, std::string code) {
  return {503, std::move(message), "server_error", std::move(code), "", 1};
}

ApiError ended_early(std::string_view cause) {
  if (cause == "deadline") {
    return {408, "the request's timeout passed before it was done", "timeout", "deadline", "", 0};
  }
  if (cause == "shutdown") {
    return {503, "the server is shutting down", "server_error", "shutdown", "", 1};
  }
  if (cause == "slow_reader") {
    return {499, "the stream was read too slowly", "cancelled", "slow_reader", "", 0};
  }
  return {499, "the request was cancelled", "cancelled", std::string(cause), "", 0};
}

}  // namespace pawl::server
