// SPDX-License-Identifier: Apache-2.0
// Errors as clients of the OpenAI API know them: a status and
// {"error": {"message", "type", "param", "code"}}. The one table from our codes to theirs.
#pragma once

#include <string>

#include "base/result.h"
#include "server/http_message.h"

namespace pawl::server {

struct ApiError {
  int status = 500;
  std::string message;
  std::string type = "server_error";
  std::string code;   // empty: null
  std::string param;  // empty: null
  int retry_after_s = 0;
};

// `error.where` becomes the param.
ApiError to_api_error(const base::Error& error);

// {"error":{…}}
std::string error_json(const ApiError& error);

HttpReply error_reply(const ApiError& error);

// Those that have no code of ours.
ApiError bad_request(std::string message, std::string param = {});
ApiError not_found(std::string message);
ApiError unauthorized(bool is_missing);
ApiError forbidden(std::string message);
ApiError method_not_allowed(std::string message);
ApiError too_large(int status, std::string message);
ApiError unavailable(std::string message, std::string code);
// Ends a reply that was under way. `cause`: "deleted", "deadline", "slow_reader", "shutdown".
ApiError ended_early(std::string_view cause);

}  // namespace pawl::server
