// SPDX-License-Identifier: Apache-2.0
// A request's life inside the engine: what it has said, what of it is computed, and which blocks
// hold that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/draft.h"
#include "engine/request.h"
#include "engine/scheduler.h"
#include "kv/block_pool.h"
#include "kv/prefix_cache.h"
#include "kv/state_pool.h"
#include "policy/history.h"
#include "text/stop_matcher.h"
#include "text/stream_decoder.h"

namespace pawl::engine {

// Threads: the step's only, once it is accepted.
struct Sequence {
  // max_length_: ids that prompt and completion may have together.
  Sequence(Request accepted, text::StopMatcher matcher, const text::Tokenizer& tokenizer,
           int64_t max_length_);

  int64_t length() const { return static_cast<int64_t>(ids.size()); }
  std::span<const base::TokenId> computed_ids() const {
    return std::span(ids).first(static_cast<size_t>(computed));
  }
  // Guesses in the step at hand.
  int64_t drafts() const { return drafted.empty() ? 0 : static_cast<int64_t>(drafted.size()) - 1; }
  // What is to be computed came in the last step.
  bool decodes() const { return is_running && computed + came_last == length(); }
  // A row of logits for every position: not all of the prompt's were told yet.
  bool wants_prompt_rows() const {
    return request.prompt_logprobs && prompt_told < usage.prompt_tokens;
  }

  int64_t id = 0;
  Request request;
  std::vector<base::TokenId> ids;  // prompt and completion; never changed but by appending
  int64_t computed = 0;            // positions whose keys and values exist
  int64_t came_last = 0;           // ids that the last choice appended, itself included
  int64_t max_length;
  bool is_running = false;     // has blocks and a state
  bool was_scheduled = false;  // at least once
  kv::BlockTable blocks;       // grows as the sequence does
  kv::StateId state = -1;      // while it runs
  int64_t kept = 0;            // whole blocks that the prefix cache knows
  kv::Salt salt;
  policy::History history;
  LookupDraft draft;
  std::vector<base::TokenId> drafted;  // the last id and the guesses after it, in the step at hand
  text::StreamDecoder decoder;
  text::StopMatcher stops;
  std::string decoded, released;  // buffers of one token
  std::vector<float> pooled;      // of a request with pooling, [width]
  int64_t prompt_told = 1;  // prompt tokens the sink knows the log-probability of, or needs not
  Usage usage;
  Timeline timeline;

  // Set when its end is decided; it is then retired in the same step.
  bool is_finished = false;
  Finished finished;
};

}  // namespace pawl::engine
