// SPDX-License-Identifier: Apache-2.0
// What a server says of itself, and what it can be asked besides answers: token counts, the record
// of a request, its metrics. Whatever is not there is nothing, never a guess.
// Threads: any; every call is a few requests of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "lab/conditions.h"
#include "lab/openai_client.h"

namespace pawl::lab {

// How the server counts tokens when asked to.
enum class TokenizeWay {
  kNone,
  kChat,  // POST /tokenize takes messages too, and counts what the chat template adds (pawl, vLLM)
  kText,  // POST /tokenize takes text alone (llama.cpp)
};

struct ServerFacts {
  std::string server;   // "pawl", "llama.cpp", "vLLM", else its Server header; may be empty
  std::string version;  // may be empty
  std::string model;    // the one asked for, else the first of /v1/models; may be empty
  std::optional<int64_t> context;  // positions of one request
  TokenizeWay tokenize = TokenizeWay::kNone;
  bool has_request_records = false;  // GET /v1/requests/{id}
  bool has_metrics = false;          // GET /metrics with a count of generated tokens
};

// Error kNetwork when nobody answers at all; what a server does not know it need not know.
base::Result<ServerFacts> read_server_facts(const Endpoint& endpoint, const base::Clock& clock);

// Whether the server's model can be asked as a chat; nothing where the server does not tell. Error
// kNetwork when nobody answers at all.
base::Result<std::optional<bool>> has_chat_template(const Endpoint& endpoint,
                                                    const base::Clock& clock);

// Fills endpoint, api, model, server and version.
void describe(const Endpoint& endpoint, const ServerFacts& facts, Conditions& conditions);

// Tokens of a prompt as a request with it would have: of a chat with its template where the server
// counts chats, else of the text alone. Error kNetwork, or kUnsupported with kNone.
struct CountedPrompt {
  int64_t tokens = 0;
  bool has_template = false;  // what the template adds is in it
  std::vector<int64_t> ids;   // as the server gave them; may be empty
};
base::Result<CountedPrompt> count_prompt(const Endpoint& endpoint, const ServerFacts& facts,
                                         std::string_view prompt, const base::Clock& clock);
// Tokens of a bare text, without a beginning-of-text token.
base::Result<int64_t> count_text(const Endpoint& endpoint, const ServerFacts& facts,
                                 std::string_view text, const base::Clock& clock);
// The text of ids, by POST /detokenize.
base::Result<std::string> detokenize(const Endpoint& endpoint, const ServerFacts& facts,
                                     const std::vector<int64_t>& ids, const base::Clock& clock);

// What the server recorded of one request. Counts are the server's.
struct RequestFacts {
  std::string state, cause;
  bool is_over = false;
  std::optional<int64_t> prompt_tokens, cached_tokens, computed_tokens, completion_tokens,
      delivered_tokens, forward_passes;
  std::optional<double> decode_ms;
};
// Nothing when the server does not know the id.
base::Result<std::optional<RequestFacts>> read_request(const Endpoint& endpoint,
                                                       const std::string& id,
                                                       const base::Clock& clock);

struct ServerCounters {
  std::optional<double> generated_tokens;  // since the server began
  std::optional<double> running_requests;
};
base::Result<ServerCounters> read_counters(const Endpoint& endpoint, const base::Clock& clock);

// The sum over all label sets of one metric in Prometheus' text format; nothing where it has none.
std::optional<double> metric_sum(std::string_view exposition, std::string_view name);

}  // namespace pawl::lab
