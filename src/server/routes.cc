// SPDX-License-Identifier: Apache-2.0
#include "server/routes.h"

namespace pawl::server {
namespace {

constexpr RouteRow kRoutes[] = {
    // method, path, endpoint, heavy, key, model
    {"POST", "/v1/chat/completions", Endpoint::kChat, true, true, true},
    {"POST", "/v1/completions", Endpoint::kCompletion, true, true, true},
    {"POST", "/v1/embeddings", Endpoint::kEmbeddings, true, true, true},
    {"POST", "/tokenize", Endpoint::kTokenize, true, true, true},
    {"POST", "/detokenize", Endpoint::kDetokenize, true, true, true},
    {"GET", "/v1/models", Endpoint::kModels, false, true, true},
    {"GET", "/v1/models/{id}", Endpoint::kModel, false, true, true},
    {"GET", "/v1/requests", Endpoint::kRequests, true, true, false},
    {"GET", "/v1/requests/{id}", Endpoint::kRequest, true, true, false},
    {"DELETE", "/v1/requests/{id}", Endpoint::kCancel, false, true, false},
    {"GET", "/health", Endpoint::kHealth, false, false, false},
    {"GET", "/ready", Endpoint::kReady, false, false, false},
    {"GET", "/metrics", Endpoint::kMetrics, false, true, false},
    {"GET", "/props", Endpoint::kProps, false, true, true},
    {"GET", "/", Endpoint::kPage, false, false, false},
    {"GET", "/web/{id}", Endpoint::kPage, false, false, false},
};

constexpr std::string_view kId = "{id}";

// The text that stands for {id}; empty text for a pattern without one that equals the path.
std::optional<std::string> match_pattern(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with(kId))
    return pattern == path ? std::optional<std::string>("") : std::nullopt;
  const std::string_view begin = pattern.substr(0, pattern.size() - kId.size());
  if (!path.starts_with(begin) || path.size() == begin.size()) return std::nullopt;
  return std::string(path.substr(begin.size()));
}

}  // namespace

std::span<const RouteRow> route_table() {
  return kRoutes;
}

Match match_route(std::string_view method, std::string_view path) {
  Match match;
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (const RouteRow& row : kRoutes) {
    auto id = match_pattern(row.pattern, path);
    if (!id) continue;
    if (row.method == wanted) {
      match.row = &row;
      match.id = std::move(*id);
    }
    if (!match.allowed.empty()) match.allowed += ", ";
    match.allowed += row.method == "GET" ? "GET, HEAD" : row.method;
  }
  return match;
}

}  // namespace pawl::server
