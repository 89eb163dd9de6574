// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/model_sources.h"
#include "lab/http_client.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Result;
using lab::HttpHead;

Result<void> fetch_url(const std::string& url, ModelSink& sink, const ProgressFunction& progress,
                       const std::stop_token& stop) {
  std::optional<int64_t> total;
  bool is_complete_already = false;
  lab::HttpReceiver receiver;
  receiver.head = [&](const HttpHead& head) -> Result<void> {
    if (head.status == 206 && head.range_first == sink.size()) {
      total = head.range_total;
      return {};
    }
    // Nothing left behind what is here: either all of it, which the hash will tell, or another
    // file.
    if (head.status == 416 && sink.size() > 0) {
      is_complete_already = true;
      return {};
    }
    if (head.status != 200) {
      return Error{ErrorCode::kNetwork,
                   fmt::format("the server answered with status {}", head.status),
                   lab::shown_url(url)};
    }
    total = head.content_length;
    return sink.restart();
  };
  receiver.bytes = [&](std::span<const std::byte> bytes) -> Result<void> {
    if (is_complete_already) return {};
    PAWL_TRY_VOID(sink.write(bytes));
    progress(sink.size(), total);
    return {};
  };
  PAWL_TRY_VOID(lab::http_get({.url = url, .first_byte = sink.size()}, receiver, stop));
  return {};
}

}  // namespace pawl::cli
