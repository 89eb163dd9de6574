// SPDX-License-Identifier: Apache-2.0
// The paths: one table. Paths are compared as they were sent, so no spelling of "up" leads
// anywhere.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/http_message.h"

namespace pawl::server {

enum class Endpoint {
  kChat,
  kCompletion,
  kEmbeddings,
  kTokenize,
  kDetokenize,
  kModels,
  kModel,
  kRequests,
  kRequest,
  kCancel,
  kHealth,
  kReady,
  kMetrics,
  kProps,
  kPage,
};

struct RouteRow {
  std::string_view method;
  std::string_view pattern;  // "/v1/requests/{id}": {id} stands for one segment
  Endpoint endpoint;
  bool is_heavy;   // parses or tokenizes: a worker's, never the io thread's
  bool needs_key;  // where the server has keys
  bool needs_model;
};

std::span<const RouteRow> route_table();

struct Match {
  const RouteRow* row = nullptr;  // null: no such path, or the method is not one of `allowed`
  std::string id;                 // what stands for {id}
  std::string allowed;            // methods of the path: "GET, HEAD"; empty: there is no such path
};
// HEAD is GET without a body.
Match match_route(std::string_view method, std::string_view path);

}  // namespace pawl::server
