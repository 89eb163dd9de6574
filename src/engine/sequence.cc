// SPDX-License-Identifier: Apache-2.0
#include "engine/sequence.h"

#include "kv/layout.h"

namespace pawl::engine {

Sequence::Sequence(Request accepted, text::StopMatcher matcher, const text::Tokenizer& tokenizer,
                   int64_t max_length_)
    : request(std::move(accepted)),
      ids(request.prompt),
      max_length(max_length_),
      salt(request.cache_salt),
      history(request.policy, request.prompt, static_cast<size_t>(max_length_)),
      draft(request.draft_tokens),
      decoder(tokenizer, {}),
      stops(std::move(matcher)) {
  ids.reserve(static_cast<size_t>(max_length));
  drafted.reserve(static_cast<size_t>(request.draft_tokens) + 1);
  blocks.reserve(static_cast<size_t>(max_length / kv::kBlockPositions + 1));
  usage.prompt_tokens = static_cast<int64_t>(request.prompt.size());
  timeline.received_ns = request.received_ns;
}

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
    case FinishReason::kDeadline:
      return "deadline";
    case FinishReason::kShutdown:
      return "shutdown";
  }
  return "error";
}

}  // namespace pawl::engine
