// SPDX-License-Identifier: Apache-2.0
#include "server/web_files.h"

#include <algorithm>
#include <string>

#include "base/trim.h"
#include "base/utf8.h"
#include "server/api_error.h"

namespace pawl::server {
namespace {

constexpr std::string_view kPage = "index.html";

// Scripts and styles come from here alone, nothing is fetched from elsewhere, no other page frames
// this one, and no text becomes markup: a browser refuses what would.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

// Whether a list as in RFC 9110 12.5.3 names gzip without a weight, or with one above 0.
bool accepts_gzip(std::string_view list) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    const size_t semicolon = item.find(';');
    if (base::trimmed(item.substr(0, semicolon)) != "gzip") continue;
    if (semicolon == std::string_view::npos) return true;
    const std::string_view weight = base::trimmed(item.substr(semicolon + 1));
    return weight.starts_with("q=") && weight.find_first_of("123456789") != std::string_view::npos;
  }
  return false;
}

}  // namespace

HttpReply web_reply(const HttpRequest& request, std::string_view name) {
  const std::string_view wanted = name.empty() ? kPage : name;
  const auto files = web_files();
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const WebFile& one) { return one.name == wanted; });
  if (file == files.end()) return error_reply(not_found("there is no " + base::quoted_text(name)));
  HttpReply reply;
  reply.content_type = file->content_type;
  const bool is_small = accepts_gzip(request.header("accept-encoding"));
  // What is encoded differently has a tag of its own (RFC 9110 8.8.3).
  const std::string etag = '"' + std::string(file->digest) + (is_small ? "-gzip\"" : "\"");
  reply.headers.emplace_back("ETag", etag);
  reply.headers.emplace_back("Vary", "Accept-Encoding");
  if (is_small) reply.headers.emplace_back("Content-Encoding", "gzip");
  reply.headers.emplace_back("Cache-Control", "no-cache");
  reply.headers.emplace_back("Content-Security-Policy", kPolicy);
  reply.headers.emplace_back("X-Content-Type-Options", "nosniff");
  reply.headers.emplace_back("Referrer-Policy", "no-referrer");
  reply.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  const std::string_view known = request.header("if-none-match");
  if (known == "*" || known.find(etag) != std::string_view::npos) reply.status = 304;
  reply.body = is_small ? file->gzip : file->content;
  return reply;
}

}  // namespace pawl::server
