// SPDX-License-Identifier: Apache-2.0
#include "lab/cancel_requests.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/http_client.h"

namespace pawl::lab {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

Result<void> CancelRequests::open(const Endpoint& endpoint, const ServerFacts& facts) {
  knows_growing_usage_ = facts.server == "pawl" || facts.server == "vLLM";
  PAWL_TRY(client_, OpenAiClient::create(endpoint, clock_));
  return {};
}

Question CancelRequests::question(std::string prompt, int64_t tokens) const {
  Question asked;
  asked.prompt = std::move(prompt);
  asked.asked.output_tokens = tokens;
  asked.keeps_text = true;
  asked.fields["temperature"] = 0;
  // Counts within the stream, from servers that are known to give them: tokens are then not
  // guessed from chunks.
  if (knows_growing_usage_) {
    Json usage;
    usage["include_usage"] = true;
    usage["continuous_usage_stats"] = true;
    asked.fields["stream_options"] = std::move(usage);
  }
  return asked;
}

Result<RequestRecord> CancelRequests::finish(OpenAiClient::Id id, std::string_view what) {
  for (;;) {
    for (RequestRecord& record : client_->take_finished()) done_.push_back(std::move(record));
    const auto found = std::find_if(done_.begin(), done_.end(),
                                    [&](const auto& record) { return record.index == id; });
    if (found != done_.end()) {
      RequestRecord record = std::move(*found);
      done_.erase(found);
      if (record.state == RequestState::kSuccess || record.state == RequestState::kCancelled) {
        return record;
      }
      return Error{ErrorCode::kNetwork, fmt::format("{}: {}", what, record.error),
                   shown_url(client_->endpoint().base_url)};
    }
    PAWL_TRY_VOID(turn());
  }
}

Result<void> CancelRequests::turn() {
  if (stop_ && stop_()) return Error{ErrorCode::kCancelled, "interrupted", ""};
  constexpr int64_t kPatienceNs = 20'000'000;
  client_->run(clock_.now_ns() + kPatienceNs);
  return {};
}

Result<void> CancelRequests::wait_ms(int64_t ms) {
  const int64_t until = clock_.now_ns() + ms * 1'000'000;
  while (clock_.now_ns() < until) {
    if (stop_ && stop_()) return Error{ErrorCode::kCancelled, "interrupted", ""};
    client_->run(std::min(until, clock_.now_ns() + 20'000'000));
  }
  return {};
}

}  // namespace pawl::lab
