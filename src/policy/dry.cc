// SPDX-License-Identifier: Apache-2.0
// DRY ("don't repeat yourself", by p-e-w): the longer the repetition that a token would extend, the
// more it loses. With n the length of the longest end of the window that also stands earlier in it,
// followed by the token: logit - multiplier * base^(n - allowed_length) if n >= allowed_length. An
// end never reaches back over the last sequence breaker, and a token that is a breaker by itself
// loses nothing.
#include <algorithm>
#include <span>

#include "policy/row_math.h"
#include "policy/stages.h"

namespace pawl::policy {

namespace {

using base::TokenId;

// Tokens after the last occurrence of any breaker; the whole window where there is none.
size_t tokens_after_breaker(std::span<const TokenId> window,
                            std::span<const std::vector<TokenId>> breakers) {
  size_t after = window.size();
  for (const std::vector<TokenId>& breaker : breakers) {
    const auto at = std::find_end(window.begin(), window.end(), breaker.begin(), breaker.end());
    if (at == window.end()) continue;
    after = std::min(after, static_cast<size_t>(window.end() - at) - breaker.size());
  }
  return after;
}

bool is_breaker(TokenId id, std::span<const std::vector<TokenId>> breakers) {
  return std::any_of(breakers.begin(), breakers.end(), [id](const std::vector<TokenId>& breaker) {
    return breaker.size() == 1 && breaker[0] == id;
  });
}

// matches[i]: how many tokens, going back, the window's end has in common with what ends i tokens
// earlier. The Z function (Gusfield 1997, §1.3) of the window read backwards: linear, whatever
// repeats.
void find_matches(std::span<const TokenId> window, std::vector<int32_t>& matches) {
  const size_t count = window.size();
  const auto back = [window](size_t i) { return window[window.size() - 1 - i]; };
  matches.assign(count, 0);
  size_t left = 0, right = 0;  // the known match that reaches furthest: [left, right)
  for (size_t i = 1; i < count; ++i) {
    size_t length = i < right ? std::min(right - i, static_cast<size_t>(matches[i - left])) : 0;
    while (i + length < count && back(length) == back(i + length)) ++length;
    matches[i] = static_cast<int32_t>(length);
    if (i + length > right) {
      left = i;
      right = i + length;
    }
  }
}

}  // namespace

void apply_dry(const Situation& situation, Scratch& scratch) {
  // Beyond any logit, and still a number: a penalty never empties the row.
  constexpr double kLargest = 1e30;
  const Policy& policy = situation.policy;
  const std::span<const TokenId> window = situation.history.dry_window();
  const size_t reach = tokens_after_breaker(window, policy.dry_sequence_breakers);
  const auto allowed = static_cast<size_t>(policy.dry_allowed_length);
  if (window.size() < 2 || reach < allowed) return;

  find_matches(window, scratch.matches);
  scratch.repeats.clear();
  for (size_t i = 1; i < window.size(); ++i) {
    const size_t length = std::min(reach, static_cast<size_t>(scratch.matches[i]));
    const TokenId next = window[window.size() - i];
    if (length < allowed || is_breaker(next, policy.dry_sequence_breakers)) continue;
    scratch.repeats.push_back({next, static_cast<int32_t>(length)});
  }
  std::sort(scratch.repeats.begin(), scratch.repeats.end(), [](const auto& a, const auto& b) {
    return a.id != b.id ? a.id < b.id : a.length > b.length;
  });

  Candidates& candidates = scratch.candidates;
  TokenId previous = kNoToken;
  for (const Scratch::Repeat& repeat : scratch.repeats) {
    if (repeat.id == previous) continue;  // a shorter repetition before the same token
    previous = repeat.id;
    const size_t at = candidates.find(repeat.id);
    if (at == candidates.size()) continue;
    const double factor = exact_pow(policy.dry_base, repeat.length - policy.dry_allowed_length);
    const double penalty = std::min(policy.dry_multiplier * factor, kLargest);
    candidates.change(at, static_cast<float>(candidates.at(at) - penalty));
  }
}

}  // namespace pawl::policy
