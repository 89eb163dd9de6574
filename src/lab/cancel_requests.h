// SPDX-License-Identifier: Apache-2.0
// The requests of a cancel check: asked one after the other or beside one another, each waited for
// to its end, and left at once when the check is stopped.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "lab/openai_client.h"
#include "lab/server_facts.h"

namespace pawl::lab {

// Threads: none; one object, one thread. clock and stop outlive it.
class CancelRequests {
 public:
  CancelRequests(const base::Clock& clock, const std::function<bool()>& stop)
      : clock_(clock), stop_(stop) {}

  // REQUIRED before all else. Errors of OpenAiClient::create.
  base::Result<void> open(const Endpoint& endpoint, const ServerFacts& facts);

  // Greedy, of so many tokens, its text kept.
  Question question(std::string prompt, int64_t tokens) const;

  OpenAiClient::Id ask(Question question) { return client_->ask(std::move(question)); }
  bool is_running(OpenAiClient::Id id) const { return client_->is_running(id); }
  int64_t landed_tokens(OpenAiClient::Id id) const { return client_->landed_tokens(id); }

  // Runs until the request is over. Error kNetwork, beginning with `what`, when it did not succeed
  // and was not left on purpose; kCancelled when stopped.
  base::Result<RequestRecord> finish(OpenAiClient::Id id, std::string_view what);

  // Works for a moment. Error kCancelled when stopped.
  base::Result<void> turn();
  base::Result<void> wait_ms(int64_t ms);

 private:
  const base::Clock& clock_;
  const std::function<bool()>& stop_;
  bool knows_growing_usage_ = false;
  std::unique_ptr<OpenAiClient> client_;
  std::vector<RequestRecord> done_;
};

}  // namespace pawl::lab
