// SPDX-License-Identifier: Apache-2.0
#include "server/origins.h"

#include <algorithm>

#include "base/utf8.h"

namespace pawl::server {
namespace {

std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

std::string lower(std::string_view text) {
  std::string copy(text);
  for (char& c : copy) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return copy;
}

bool changes_something(std::string_view method) {
  return method != "GET" && method != "HEAD" && method != "OPTIONS";
}

}  // namespace

bool is_loopback_host(std::string_view host) {
  const std::string name = lower(without_port(host));
  if (name == "localhost" || name.ends_with(".localhost") || name == "[::1]") return true;
  // 127.0.0.0/8, written as four numbers.
  return name.starts_with("127.") && name.find_first_not_of("0123456789.") == std::string::npos &&
         std::count(name.begin(), name.end(), '.') == 3;
}

bool is_loopback_address(std::string_view address) {
  return address == "::1" || is_loopback_host(address);
}

bool Origins::is_allowed(std::string_view origin) const {
  return std::any_of(allowed_.begin(), allowed_.end(), [&](const std::string& one) {
    return one == "*" || lower(one) == lower(origin);
  });
}

std::string Origins::refusal(const HttpRequest& request) const {
  const std::string_view host = request.header("host");
  if (is_loopback_ && !host.empty() && !is_loopback_host(host)) {
    return "the host " + base::quoted_text(host) +
           " is not this machine's loopback address, where the server listens";
  }
  const std::string_view origin = request.header("origin");
  if (origin.empty() || !changes_something(request.method) || is_allowed(origin)) return {};
  if (lower(origin) == "http://" + lower(host)) return {};  // a page of this server
  return "pages of " + base::quoted_text(origin) +
         " may not use this server; start it with --cors-origin to allow them";
}

void Origins::add_headers(const HttpRequest& request, Headers& headers) const {
  const std::string_view origin = request.header("origin");
  if (allowed_.empty()) return;
  headers.emplace_back("Vary", "Origin");
  if (origin.empty() || !is_allowed(origin)) return;
  const bool is_any = std::find(allowed_.begin(), allowed_.end(), "*") != allowed_.end();
  headers.emplace_back("Access-Control-Allow-Origin", is_any ? "*" : std::string(origin));
  headers.emplace_back("Access-Control-Expose-Headers", "x-request-id, retry-after");
}

HttpReply Origins::preflight(const HttpRequest& request, std::string_view methods) const {
  HttpReply reply;
  reply.status = 204;
  reply.content_type.clear();
  reply.headers.emplace_back("Allow", std::string(methods) + ", OPTIONS");
  if (!is_allowed(request.header("origin"))) return reply;
  reply.headers.emplace_back("Access-Control-Allow-Methods", std::string(methods));
  reply.headers.emplace_back("Access-Control-Allow-Headers",
                             "authorization, content-type, x-api-key, x-request-id, traceparent, "
                             "x-stainless-arch, x-stainless-async, x-stainless-lang, "
                             "x-stainless-os, x-stainless-package-version, "
                             "x-stainless-retry-count, x-stainless-runtime, "
                             "x-stainless-runtime-version, x-stainless-timeout");
  reply.headers.emplace_back("Access-Control-Max-Age", "600");
  return reply;
}

}  // namespace pawl::server
