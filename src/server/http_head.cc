// SPDX-License-Identifier: Apache-2.0
#include "server/http_head.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <iterator>

namespace pawl::server {
namespace {

struct Phrase {
  int status;
  std::string_view text;
};

constexpr Phrase kPhrases[] = {
    {200, "OK"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {499, "Client Closed Request"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

void append_header(std::string_view name, std::string_view value, std::string& out) {
  out += name;
  out += ": ";
  for (const char c : value) out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  out += "\r\n";
}

}  // namespace

std::string_view reason_phrase(int status) {
  for (const Phrase& phrase : kPhrases) {
    if (phrase.status == status) return phrase.text;
  }
  return "Unknown";
}

std::string http_head(const HeadParts& parts, const Headers& headers) {
  std::string out;
  out.reserve(512);
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\nDate: {:%a, %d %b %Y %T} GMT\r\n",
                 parts.status, reason_phrase(parts.status), fmt::gmtime(std::time(nullptr)));
  append_header("Server", "pawl", out);
  if (!parts.content_type.empty()) append_header("Content-Type", parts.content_type, out);
  if (parts.body_bytes) append_header("Content-Length", std::to_string(*parts.body_bytes), out);
  if (parts.is_chunked) append_header("Transfer-Encoding", "chunked", out);
  append_header("Connection", parts.closes ? "close" : "keep-alive", out);
  for (const auto& [name, value] : headers) append_header(name, value, out);
  out += "\r\n";
  return out;
}

void append_http_chunk(std::string_view data, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", data.size());
  out += data;
  out += "\r\n";
}

}  // namespace pawl::server
