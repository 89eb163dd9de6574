// SPDX-License-Identifier: Apache-2.0
// What a request hears from the engine: its PromptTokens if it asked for them, any number of
// Deltas, then exactly one Finished.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "engine/timeline.h"
#include "policy/choice.h"

namespace pawl::engine {

// A token of the prompt, from the second on, as the network saw it coming.
struct PromptToken {
  int64_t position = 0;  // in the prompt
  base::TokenId id = 0;
  double logprob = 0;  // ln p(id | the prompt before it), of the untouched row
  std::span<const policy::TokenLogprob> top;  // as in Choice; valid during the call
};

// One token, the end token included. Its text may be empty: the end token has none, and half a
// character, or the head of what may become a stop string, is held back until it is decided. Text
// that was given out is never taken back.
struct Delta {
  base::TokenId id = 0;
  std::string_view text;                   // UTF-8, valid during the call; what this token released
  const policy::Choice* choice = nullptr;  // valid during the call; null: it was the only way on
  int64_t stamp_ns = 0;
};

enum class FinishReason {
  kStop,       // an end token or a stop string
  kLength,     // max_tokens, or the end of the context
  kCancelled,  // its stop token was asked to stop
  kError,      // nothing could be chosen; `error` says why
  kDeadline,   // its deadline passed
  kShutdown,   // the engine was stopped
};
std::string_view finish_reason_name(FinishReason reason);

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;      // of the prompt, there already when it was first scheduled
  int64_t completion_tokens = 0;  // selected ids, the end token included
  int64_t forced_tokens = 0;      // of these, the only way on: no row of logits was needed for them
  int64_t computed_tokens = 0;    // positions computed, those again after a preemption included
  int64_t forward_passes = 0;     // batches this request took part in
  int64_t drafted_tokens = 0;     // guesses computed
  int64_t accepted_draft_tokens = 0;  // of these, right: completion tokens that cost no pass
  int64_t preemptions = 0;            // times it gave its blocks up and waited again
};

struct Finished {
  FinishReason reason = FinishReason::kStop;
  std::string text;  // what was still held back when it ended; comes after the last Delta's
  Usage usage;
  Timeline timeline;
  base::TokenId end_token = policy::kNoToken;  // the end token that was chosen, or none
  std::string stop_string;                     // the stop string that matched, or empty
  std::string error;
  std::vector<float>
      embedding;  // of a request with pooling that came to its end (kLength), [width]
};

// Called on the thread that runs the step (with a Service: the engine's own); must not block it,
// and must not call back into the engine. After on_finished nothing more comes.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_prompt_token(const PromptToken&) {}  // in order of position, each once
  virtual void on_delta(const Delta& delta) = 0;
  virtual void on_finished(const Finished& finished) = 0;
};

}  // namespace pawl::engine
