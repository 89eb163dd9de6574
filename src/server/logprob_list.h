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
  // `tokenizer` outlives it. top: how many alternatives each token gets; 0: none were asked for.
  LogprobList(Route route, const text::Tokenizer& tokenizer, bool has_top)
      : route_(route), tokenizer_(&tokenizer), has_top_(has_top) {}

  // The next token. `logprob` null: it has none, as the first of a prompt.
  void add(base::TokenId id, const double* logprob, const std::vector<policy::TokenLogprob>& top);

  bool is_empty() const { return count_ == 0; }

  // {"content":[…],"refusal":null}, or {"tokens":[…],"token_logprobs":[…],"top_logprobs":[…],
  // "text_offset":[…]}. Offsets are in characters from the choice's begin and go on after clear().
  void append_json(std::string& out) const;
  void clear();

 private:
  void add_chat(std::string_view piece, const double* logprob,
                const std::vector<policy::TokenLogprob>& top);
  void add_completion(std::string_view piece, const double* logprob,
                      const std::vector<policy::TokenLogprob>& top);
  std::string piece(base::TokenId id) const;

  Route route_;
  const text::Tokenizer* tokenizer_;
  bool has_top_;
  int count_ = 0;
  std::string content_;                             // chat
  std::string tokens_, logprobs_, tops_, offsets_;  // completions
  int64_t offset_ = 0;
};

}  // namespace pawl::server
