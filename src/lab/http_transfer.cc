// SPDX-License-Identifier: Apache-2.0
#include "lab/http_transfer.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/header_line.h"

namespace pawl::lab {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;

// "2 s", "1500 ms".
std::string shown_ms(int64_t ms) {
  return ms % 1000 == 0 ? fmt::format("{} s", ms / 1000) : fmt::format("{} ms", ms);
}

size_t on_header(char* data, size_t, size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.read_stamp();
  const std::string_view line(data, size);
  if (transfer.is_head_whole) return size;  // a trailer
  if (const auto status = parse_status_line(line)) {
    transfer.head = {*status, {}};
  } else if (const auto header = split_header(line)) {
    transfer.head.headers.emplace_back(header->first, header->second);
  } else if (transfer.head.status >= 200) {  // the blank line; 1xx heads come before the real one
    transfer.is_head_whole = true;
  }
  return size;
}

size_t on_bytes(char* data, size_t, size_t size, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const int64_t before = transfer.last_round;
  ReadStamp stamp = transfer.read_stamp();
  // The head's round is the body's first read, if a part of the body came with it.
  if (before != transfer.last_round || stamp.read < 0) stamp.read = ++transfer.stamp.read;
  transfer.received.append(data, size);
  transfer.pieces.push_back({size, stamp});
  return size;
}

// Connected; the request goes out. The second time the connection it went out on first was found
// closed without a byte of an answer; a third is refused.
int on_sending(void* self, char*, char*, int, int) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.end.sent_ns = transfer.clock->now_ns();
  return ++transfer.sendings > 2 ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

bool is_loopback(std::string_view url) {
  const size_t host = url.find("://") + 3;
  for (const std::string_view name : {"localhost", "127.", "[::1]"}) {
    if (url.substr(std::min(host, url.size())).starts_with(name)) return true;
  }
  return false;
}

}  // namespace

void configure(Transfer& transfer) {
  const CurlLibrary& curl = *transfer.curl;
  CURL* const easy = transfer.easy;
  const HttpRequest& request = transfer.request;
  curl.easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  // HTTP/2 would put several streams on one connection, and their bytes behind one another.
  curl.easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  // A large block from a buffer on the way should come as one read.
  curl.easy_setopt(easy, CURLOPT_BUFFERSIZE, 128L * 1024);
  curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.limits.connect_ms));
  // Asks for no compression, and reads it if it comes all the same.
  curl.easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "identity");
  curl.easy_setopt(easy, CURLOPT_USERAGENT, "pawl");
  if (!request.ca_file.empty()) curl.easy_setopt(easy, CURLOPT_CAINFO, request.ca_file.c_str());
  if (is_loopback(request.url)) curl.easy_setopt(easy, CURLOPT_NOPROXY, "*");
  curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.why.data());
  curl.easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
  curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, &on_header);
  curl.easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, &on_bytes);
  curl.easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl.easy_setopt(easy, CURLOPT_PREREQFUNCTION, &on_sending);
  curl.easy_setopt(easy, CURLOPT_PREREQDATA, &transfer);
  // A large body would wait for "100 Continue" first.
  transfer.headers = curl.slist_append(nullptr, "Expect:");
  for (const std::string& header : request.headers) {
    transfer.headers = curl.slist_append(transfer.headers, header.c_str());
  }
  curl.easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers);
  if (request.method == "POST") {
    curl.easy_setopt(easy, CURLOPT_POST, 1L);
    curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl.easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
  } else if (request.method != "GET") {
    curl.easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
}

FailureKind failure_of(CURLcode code, const Transfer& transfer) {
  if (code == CURLE_OK) return FailureKind::kNone;
  return transfer.end.sent_ns ? FailureKind::kBroken : FailureKind::kConnect;
}

std::optional<std::pair<FailureKind, std::string>> passed_limit(const Transfer& transfer,
                                                                int64_t now_ns) {
  const HttpLimits& limits = transfer.request.limits;
  const auto is_past = [&](int64_t from_ns, int64_t limit_ms) {
    return limit_ms > 0 && now_ns - from_ns >= limit_ms * kNsPerMs;
  };
  if (is_past(transfer.started_ns, limits.total_ms)) {
    return std::pair(FailureKind::kTotal, "total " + shown_ms(limits.total_ms));
  }
  if (transfer.last_byte_ns != 0) {
    if (!is_past(transfer.last_byte_ns, limits.idle_ms)) return std::nullopt;
    return std::pair(FailureKind::kIdle, "idle " + shown_ms(limits.idle_ms));
  }
  if (!transfer.end.sent_ns || !is_past(*transfer.end.sent_ns, limits.first_byte_ms)) {
    return std::nullopt;
  }
  return std::pair(FailureKind::kFirstByte, "first byte " + shown_ms(limits.first_byte_ms));
}

}  // namespace pawl::lab
