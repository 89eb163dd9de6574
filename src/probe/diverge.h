// SPDX-License-Identifier: Apache-2.0
// Greedy answers, and the same answers with one early word changed. For each prompt: the greedy
// answer; in it, at the first token of one of the words 2 to 5, the most likely token that starts
// another word; from there on greedy again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/runtime.h"

namespace pawl::probe {

struct DivergeOptions {
  int64_t tokens = 48;  // of each answer
  int batch = 8;        // sequences that run together; changes no token
  uint64_t seed = 1;    // of which word is changed
};

struct DivergeCase {
  int64_t prompt = 0;                  // index
  std::string skipped;                 // why there is nothing to compare; empty when there is
  int64_t changed_at = 0;              // token of the answer
  int word = 0;                        // which word that is, from 1
  std::vector<base::TokenId> answer;   // an end token included, as in `changed`
  std::vector<base::TokenId> changed;  // the answer up to changed_at, another token, and what
                                       // followed it
};

// Runs the prompts given by their index, `batch` at a time, and hands on each case when it is done,
// in order. Errors: those of the engine; kCancelled when stopped, after the cases that were done.
base::Result<void> diverge(engine::Runtime& runtime, std::span<const std::string> prompts,
                           std::span<const int64_t> indices, const DivergeOptions& options,
                           const base::Clock& clock, const std::stop_token& stop,
                           const std::function<base::Result<void>(const DivergeCase&)>& done);

// Whether a piece that follows the text `before` starts a word: a letter or digit behind a space,
// or at the start of a line or text. Bytes above 0x7F count as letters.
bool starts_word(std::string_view before, std::string_view piece);

// Whether two pieces that start words start different ones: neither, without spaces and in lower
// case, is the beginning of the other.
bool are_other_words(std::string_view a, std::string_view b);

}  // namespace pawl::probe
