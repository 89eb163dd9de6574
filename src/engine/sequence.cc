// SPDX-License-Identifier: Apache-2.0
#include "engine/sequence.h"

#include <algorithm>

#include "kv/layout.h"

namespace pawl::engine {

Sequence::Sequence(int64_t number, Request accepted, text::StopMatcher matcher,
                   const text::Tokenizer& tokenizer, int64_t max_length_)
    : id(number),
      request(std::move(accepted)),
      ids(request.prompt),
      max_length(max_length_),
      history(request.policy, request.prompt, static_cast<size_t>(max_length_)),
      decoder(tokenizer, {}),
      stops(std::move(matcher)) {
  ids.reserve(static_cast<size_t>(max_length));
  usage.prompt_tokens = static_cast<int64_t>(request.prompt.size());
  timeline.received_ns = request.received_ns;
}

Candidate Sequence::candidate() const {
  // The last id that may be chosen is never computed: nothing comes after it.
  const int64_t positions = std::max<int64_t>(usage.prompt_tokens, max_length - 1);
  return Candidate{.length = length(),
                   .computed = computed,
                   .is_running = is_running(),
                   .blocks_needed = (positions + kv::kBlockPositions - 1) / kv::kBlockPositions};
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
