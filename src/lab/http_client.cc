// SPDX-License-Identifier: Apache-2.0
#include "lab/http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "lab/curl_library.h"
#include "lab/header_line.h"

namespace pawl::lab {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

using EasyHandle = std::unique_ptr<CURL, decltype(&::curl_easy_cleanup)>;
using MultiHandle = std::unique_ptr<CURLM, decltype(&::curl_multi_cleanup)>;

// One request while it runs: libcurl calls back into it.
class Transfer {
 public:
  explicit Transfer(const HttpReceiver& receiver) : receiver_(receiver) {}

  // Each answer on the way (a redirect too) starts with a status line and begins the head anew.
  static size_t on_header(char* data, size_t, size_t size, void* self) {
    static_cast<Transfer*>(self)->read_header(std::string_view(data, size));
    return size;
  }

  static size_t on_bytes(char* data, size_t, size_t size, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    const auto bytes = std::as_bytes(std::span(data, size));
    return transfer->deliver_head() && transfer->accept(transfer->receiver_.bytes(bytes)) ? size
                                                                                          : 0;
  }

  // A body may be empty: then this is called once more after the end. False when the receiver
  // refused.
  bool deliver_head() {
    if (is_head_delivered_) return true;
    is_head_delivered_ = true;
    return accept(receiver_.head(head_));
  }

  const HttpHead& head() const { return head_; }
  std::optional<Error>& refusal() { return refusal_; }

 private:
  bool accept(Result<void> result) {
    if (!result.ok()) refusal_ = std::move(result).error();
    return !refusal_;
  }

  void read_header(std::string_view line) {
    if (const auto status = parse_status_line(line)) {
      head_ = {};
      head_.status = *status;
      return;
    }
    const auto header = split_header(line);
    if (!header) return;
    const auto& [name, value] = *header;
    if (is_same_word(name, "content-length")) head_.content_length = parse_count(value);
    if (is_same_word(name, "content-range")) {
      if (const auto range = parse_content_range(value)) {
        head_.range_first = range->first;
        head_.range_total = range->total;
      }
    }
  }

  const HttpReceiver& receiver_;
  HttpHead head_;
  bool is_head_delivered_ = false;
  std::optional<Error> refusal_;
};

void configure(const CurlLibrary& curl, CURL* easy, const HttpGet& request, Transfer& transfer,
               char* reason) {
  curl.easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  // A server may not send us to a local file or to another protocol.
  curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl.easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
  curl.easy_setopt(easy, CURLOPT_MAXREDIRS, static_cast<long>(request.max_redirects));
  curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);  // no alarm signals: other threads run
  curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_limit_ms));
  curl.easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);  // bytes per second, for the idle limit
  curl.easy_setopt(easy, CURLOPT_LOW_SPEED_TIME,
                   static_cast<long>(std::max<int64_t>(1, request.idle_limit_ms / 1000)));
  curl.easy_setopt(easy, CURLOPT_USERAGENT, "pawl");
  curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, reason);
  curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  curl.easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::on_bytes);
  curl.easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  if (request.first_byte > 0) {
    curl.easy_setopt(easy, CURLOPT_RANGE, fmt::format("{}-", request.first_byte).c_str());
  }
}

// Runs to the end or to `stop`; nothing when stopped. The wait is short so that a stop is noticed.
std::optional<CURLcode> perform(const CurlLibrary& curl, CURLM* multi,
                                const std::stop_token& stop) {
  constexpr int kWaitMs = 50;
  for (;;) {
    if (stop.stop_requested()) return std::nullopt;
    int running = 0;
    if (curl.multi_perform(multi, &running) != CURLM_OK) return CURLE_FAILED_INIT;
    int queued = 0;
    while (const CURLMsg* message = curl.multi_info_read(multi, &queued)) {
      if (message->msg == CURLMSG_DONE) return message->data.result;
    }
    curl.multi_poll(multi, nullptr, 0, kWaitMs, nullptr);
  }
}

Error failure(const CurlLibrary& curl, CURLcode code, const char* reason, const HttpGet& request) {
  const std::string where = shown_url(request.url);
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return {ErrorCode::kInvalidArgument, "not an http or https URL", where};
    case CURLE_TOO_MANY_REDIRECTS:
      return {ErrorCode::kNetwork, fmt::format("more than {} redirects", request.max_redirects),
              where};
    case CURLE_PARTIAL_FILE:
      return {ErrorCode::kNetwork, "the connection ended before all was received", where};
    default:
      break;
  }
  const std::string text = reason[0] != '\0' ? reason : curl.easy_strerror(code);
  return {ErrorCode::kNetwork, text, where};
}

}  // namespace

Result<HttpHead> http_get(const HttpGet& request, const HttpReceiver& receiver,
                          std::stop_token stop) {
  PAWL_TRY(const CurlLibrary* const library, curl_library());
  const CurlLibrary& curl = *library;
  const EasyHandle easy(curl.easy_init(), curl.easy_cleanup);
  const MultiHandle multi(curl.multi_init(), curl.multi_cleanup);
  if (!easy || !multi) return Error{ErrorCode::kOutOfMemory, "no memory for a connection", ""};

  std::array<char, CURL_ERROR_SIZE> reason{};
  Transfer transfer(receiver);
  configure(curl, easy.get(), request, transfer, reason.data());
  curl.multi_add_handle(multi.get(), easy.get());
  const std::optional<CURLcode> code = perform(curl, multi.get(), stop);
  curl.multi_remove_handle(multi.get(), easy.get());

  if (!code) return Error{ErrorCode::kCancelled, "interrupted", shown_url(request.url)};
  if (transfer.refusal()) return *transfer.refusal();
  if (*code != CURLE_OK) return failure(curl, *code, reason.data(), request);
  if (!transfer.deliver_head()) return *transfer.refusal();
  return transfer.head();
}

std::optional<ContentRange> parse_content_range(std::string_view value) {
  constexpr std::string_view kUnit = "bytes ";
  if (value.size() <= kUnit.size() || !is_same_word(value.substr(0, kUnit.size()), kUnit)) {
    return std::nullopt;
  }
  value.remove_prefix(kUnit.size());
  const size_t dash = value.find('-');
  const size_t slash = value.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) {
    return std::nullopt;
  }
  const auto first = parse_count(value.substr(0, dash));
  const auto last = parse_count(value.substr(dash + 1, slash - dash - 1));
  const auto total = parse_count(value.substr(slash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  if (!total && value.substr(slash + 1) != "*") return std::nullopt;
  if (total && *last >= *total) return std::nullopt;
  return ContentRange{*first, total};
}

std::string shown_url(const std::string& url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string::npos) return url;
  const size_t host = scheme + 3;
  const size_t end = std::min(url.find_first_of("/?#", host), url.size());
  const size_t at = url.rfind('@', end);
  if (at == std::string::npos || at < host) return url;
  return url.substr(0, host) + url.substr(at + 1);
}

}  // namespace pawl::lab
