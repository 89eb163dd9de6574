// SPDX-License-Identifier: Apache-2.0
// The log-probabilities of one choice, as JSON in the form of the route: growing for a whole reply,
// emptied after each chunk of a stream.
#pragma once

#include <string>
#include <vector>

#include "policy/choice.h"
#include "server/fields.h"
#include "text/tokenizer.h"

namespace pawl::server {

class LogprobList {
 public:
  // `tokenizer` outlives it. has_top: alternatives were asked for. has_ids: each token and each
  // alternative comes with its id; in a completion, whose form has no place for them, in a list
  // "content" of the chat's form beside the others.
  LogprobList(Route route, const text::Tokenizer& tokenizer, bool has_top, bool has_ids)
      : route_(route), tokenizer_(&tokenizer), has_top_(has_top), has_ids_(has_ids) {}

  // The next token. `logprob` null: it has none, as the first of a prompt.
  void add(base::TokenId id, const double* logprob, const std::vector<policy::TokenLogprob>& top);

  bool is_empty() const { return count_ == 0; }

  // {"content":[…],"refusal":null}, or {"tokens":[…],"token_logprobs":[…],"top_logprobs":[…],
  // "text_offset":[…]}. Offsets are in characters from the choice's begin and go on after clear().
  void append_json(std::string& out) const;
  void clear();

 private:
  void add_chat(base::TokenId id, const double* logprob,
                const std::vector<policy::TokenLogprob>& top);
  void append_chat_token(base::TokenId id, const double* logprob, std::string& out) const;
  void add_completion(std::string_view piece, const double* logprob,
                      const std::vector<policy::TokenLogprob>& top);
  std::string piece(base::TokenId id) const;

  Route route_;
  const text::Tokenizer* tokenizer_;
  bool has_top_, has_ids_;
  int count_ = 0;
  std::string content_;                             // chat, and whoever wants ids
  std::string tokens_, logprobs_, tops_, offsets_;  // completions
  int64_t offset_ = 0;
};

}  // namespace pawl::server
