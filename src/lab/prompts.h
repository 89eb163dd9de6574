// SPDX-License-Identifier: Apache-2.0
// Prompts for measuring: as long in tokens as asked, varied as text is, and each with a head that
// no prompt had before, in this run or an earlier one, so that no prefix cache helps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::lab {

// A text whose head is unique to (salt, number) and whose words are drawn from a few hundred common
// ones. `words` at least 1.
std::string varied_text(uint64_t salt, uint64_t number, int64_t words);

// Threads: none; one object, one thread.
class PromptMaker {
 public:
  // Tokens of a request with that prompt, as the server counts them.
  using Count = std::function<base::Result<int64_t>(std::string_view prompt)>;

  // salt: of the run; another one for each. count: null where the server does not count; then
  // lengths are those of learn().
  PromptMaker(uint64_t salt, Count count) : salt_(salt), count_(std::move(count)) {}

  // Two texts of `words` words each turned out as so many tokens: what a word costs and what is
  // there without any.
  void learn(int64_t words_a, int64_t tokens_a, int64_t words_b, int64_t tokens_b);

  // A new prompt of `tokens` tokens: exact where the server counts, up to the last few tries, else
  // by what was learned. Never shorter than its head. Errors are those of the count.
  base::Result<std::string> make(int64_t tokens);
  // A new prompt of that many words.
  std::string make_words(int64_t words) { return varied_text(salt_, next_++, words); }

  bool is_exact() const { return static_cast<bool>(count_); }

 private:
  int64_t words_for(double tokens) const;

  uint64_t salt_;
  Count count_;
  uint64_t next_ = 0;
  double per_word_ = 1, fixed_ = 12;  // tokens; common words are one each in most vocabularies
};

}  // namespace pawl::lab
