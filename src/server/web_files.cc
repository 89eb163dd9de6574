// SPDX-License-Identifier: Apache-2.0
#include "server/web_files.h"

#include <algorithm>
#include <string>

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

}  // namespace

HttpReply web_reply(const HttpRequest& request, std::string_view name) {
  const std::string_view wanted = name.empty() ? kPage : name;
  const auto files = web_files();
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const WebFile& one) { return one.name == wanted; });
  if (file == files.end()) return error_reply(not_found("there is no " + base::quoted_text(name)));
  HttpReply reply;
  reply.content_type = file->content_type;
  reply.headers.emplace_back("ETag", file->etag);
  reply.headers.emplace_back("Cache-Control", "no-cache");
  reply.headers.emplace_back("Content-Security-Policy", kPolicy);
  reply.headers.emplace_back("X-Content-Type-Options", "nosniff");
  reply.headers.emplace_back("Referrer-Policy", "no-referrer");
  reply.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  const std::string_view known = request.header("if-none-match");
  if (known == "*" || known.find(file->etag) != std::string_view::npos) reply.status = 304;
  reply.body = file->content;
  return reply;
}

}  // namespace pawl::server
