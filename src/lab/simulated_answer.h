// SPDX-License-Identifier: Apache-2.0
// Records of JSON answers whose tokens and times are made by hand, for tests.
#pragma once

#include <string>
#include <vector>

#include "lab/record.h"

namespace pawl::lab::testing {

struct MadeToken {
  std::string text;
  bool is_forced = false;
  int64_t ms = 0;  // since the token before it, of the first since the sending
};

// Streamed, one token in an event, an end token without text behind them, which is counted as the
// others are.
inline RequestRecord made_record(std::string arm, size_t prompt,
                                 const std::vector<MadeToken>& tokens, int64_t end_ms = 9,
                                 int64_t close_ms = 1) {
  constexpr int64_t kMs = 1'000'000;
  RequestRecord record;
  record.asked.arm = std::move(arm);
  record.asked.label = std::to_string(prompt);
  record.state = RequestState::kSuccess;
  record.finish_reason = "stop";
  record.http_status = 200;
  record.has_done = true;
  record.sent_ns = 1000 * kMs;
  int64_t now_ns = *record.sent_ns;
  const auto put = [&](const std::string& text, bool is_forced) {
    RawEvent event;
    event.stamp_ns = now_ns;
    event.kind = text.empty() ? EventKind::kOther : EventKind::kContent;
    event.text_bytes = event.answer_bytes = static_cast<int32_t>(text.size());
    event.tokens = 1;
    event.forced = is_forced ? 1 : 0;
    record.events.push_back(event);
    record.text += text;
  };
  for (const MadeToken& token : tokens) {
    now_ns += token.ms * kMs;
    put(token.text, token.is_forced);
  }
  now_ns += end_ms * kMs;
  put("", false);
  record.closed_ns = now_ns + close_ms * kMs;
  record.output.usage = static_cast<int64_t>(tokens.size()) + 1;
  return record;
}

}  // namespace pawl::lab::testing
