// SPDX-License-Identifier: Apache-2.0
// What a body asks for, read and checked: the same value for chats and completions. From here on
// nothing looks at the JSON again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/request.h"
#include "grammar/compiler.h"
#include "server/fields.h"
#include "server/limits.h"
#include "text/tokenizer.h"

namespace pawl::server {

struct GenerationRequest {
  Route route = Route::kChat;
  std::vector<std::vector<base::TokenId>> prompts;
  int choices = 1;  // of each prompt
  policy::Policy policy;
  std::vector<std::string> stops;
  int64_t max_tokens = 0;
  int64_t timeout_ms = 0;  // 0: none
  int priority = 0;
  int draft_tokens = 0;  // guesses in one step
  std::string cache_salt;
  std::string user;
  int64_t truncated_tokens = 0;  // that were dropped because the request asked for it

  bool is_stream = false;
  bool wants_usage = false;             // in a chunk of its own, at the end of a stream
  bool wants_continuous_usage = false;  // in every chunk
  bool wants_progress = false;          // a chunk while the prompt waits
  bool wants_logprobs = false;
  bool wants_ids = false;
  bool wants_times = false;
  bool wants_echo = false;

  // What the answer is to look like; null: free text.
  std::shared_ptr<const grammar::Compiled> format;
  // The prompt opened the model's thinking: the answer comes behind it.
  bool thinks = false;
  bool closes_json = false;  // within max_tokens, whatever is chosen
  // How calls of tools are spelled in the answer; null: none is one.
  const grammar::ToolStyle* tool_style = nullptr;

  // A vector for each prompt in place of a completion.
  struct Embedding {
    engine::Pooling pooling = engine::Pooling::kMean;
    bool is_base64 = false;
    bool is_normalised = true;
  };
  std::optional<Embedding> embedding;

  int sequences() const { return choices * static_cast<int>(prompts.size()); }
};

// The parts that both routes share. `prompts` stays empty. Errors name the field.
base::Result<GenerationRequest> read_common(const base::Json& body, Route route,
                                            const Limits& limits, const text::Tokenizer& tokenizer);

// Priority, salt, user, timeout, drafts and choices: when it runs, and as what.
base::Result<void> read_scheduling(const FieldReader& fields, const Limits& limits,
                                   GenerationRequest& request);

// An array of ids, each checked against the vocabulary. `field`: for the error.
base::Result<std::vector<base::TokenId>> read_ids(std::string_view field,
                                                  const base::Json::Array& items,
                                                  const text::Vocab& vocab);

// Applies truncate_prompt_tokens, and refuses prompts that leave no room: both numbers are named.
base::Result<void> fit_prompts(const base::Json& body, int64_t context, GenerationRequest& request);

// The forms a prompt may have: a text, an array of texts, of ids, or of arrays of ids. Errors name
// `field`.
base::Result<std::vector<std::vector<base::TokenId>>> read_prompts(
    const base::Json& body, std::string_view field, int most, const text::Tokenizer& tokenizer);

// POST /v1/completions. REQUIRES: `body` is an object
base::Result<GenerationRequest> read_completion(const base::Json& body, const Limits& limits,
                                                int64_t context, const text::Tokenizer& tokenizer);

}  // namespace pawl::server
