// SPDX-License-Identifier: Apache-2.0
// What the engine accepts: a prompt in ids, the policy, what ends it, and where the events go.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/token.h"
#include "engine/event_sink.h"
#include "model/pooling.h"
#include "policy/constraint.h"
#include "policy/policy.h"

namespace pawl::engine {

using model::find_pooling;
using model::Pooling;

struct Stops {
  std::vector<std::string> strings;  // text that ends the completion; none of it is given out
  int64_t max_tokens = 128;          // of the completion; the context's end may come before
};

struct Request {
  std::vector<base::TokenId> prompt;  // at least one id
  policy::Policy policy;
  Stops stops;
  // What may come next, or none. It has accepted nothing yet, belongs to this request alone and is
  // used on the engine's thread only.
  std::shared_ptr<policy::Constraint> constraint;
  // Guesses of what comes next that a step may compute beside its own token (draft.h); 0: none.
  // They change no token, only the time.
  int draft_tokens = 0;
  // Give the sink the log-probability of each prompt token, before the first Delta. Every position
  // is then computed: nothing comes from the prefix cache.
  bool prompt_logprobs = false;
  // One vector for the prompt instead of a completion, in Finished; no other event comes. Every
  // position is computed.
  std::optional<Pooling> pooling;
  bool is_normalised = true;  // to a length of 1

  std::stop_token stop_token;  // asked before each step
  int64_t deadline_ns = 0;     // on the engine's clock; it ends in the first step after; 0: none
  int priority = 0;            // smaller goes first, whoever came before; equal: by arrival
  std::string cache_salt;      // computed prefixes are shared among equal salts only

  EventSink* sink = nullptr;  // outlives the request's on_finished
  int64_t received_ns = 0;    // on the engine's clock
};

}  // namespace pawl::engine
