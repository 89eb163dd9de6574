// SPDX-License-Identifier: Apache-2.0
// What the engine accepts: a prompt in ids, the policy, what ends it, and where the events go.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "base/token.h"
#include "engine/event_sink.h"
#include "policy/policy.h"

namespace pawl::engine {

struct Stops {
  std::vector<std::string> strings;  // text that ends the completion; none of it is given out
  int64_t max_tokens = 128;          // of the completion; the context's end may come before
};

struct Request {
  std::vector<base::TokenId> prompt;  // at least one id
  policy::Policy policy;
  Stops stops;
  std::stop_token stop_token;  // asked before each step
  EventSink* sink = nullptr;   // outlives the sequence
  int64_t received_ns = 0;     // on the engine's clock
};

}  // namespace pawl::engine
