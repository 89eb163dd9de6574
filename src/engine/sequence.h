// SPDX-License-Identifier: Apache-2.0
// A request's life inside the engine: what it has said, what of it is computed, and which blocks
// hold that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/request.h"
#include "engine/scheduler.h"
#include "kv/block_pool.h"
#include "policy/history.h"
#include "text/stop_matcher.h"
#include "text/stream_decoder.h"

namespace pawl::engine {

// Threads: the step's only.
struct Sequence {
  // max_length_: ids that prompt and completion may have together.
  Sequence(int64_t number, Request accepted, text::StopMatcher matcher,
           const text::Tokenizer& tokenizer, int64_t max_length_);

  int64_t length() const { return static_cast<int64_t>(ids.size()); }
  bool is_running() const { return !blocks.empty(); }
  Candidate candidate() const;

  int64_t id;
  Request request;
  std::vector<base::TokenId> ids;  // prompt and completion; never changed but by appending
  int64_t computed = 0;            // positions whose keys and values exist
  int64_t max_length;
  kv::BlockTable blocks;  // for the whole life, taken at admission
  policy::History history;
  text::StreamDecoder decoder;
  text::StopMatcher stops;
  std::string decoded, released;  // buffers of one token
  Usage usage;
  Timeline timeline;

  // Set when its end is decided; it is then retired in the same step.
  bool is_finished = false;
  Finished finished;
};

}  // namespace pawl::engine
