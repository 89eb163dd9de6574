// SPDX-License-Identifier: Apache-2.0
#include "grammar/random_walks.h"

#include <random>

namespace pawl::grammar {

using base::Json;

Json RandomWalks::verdict(const bridge::Validator& judge, int64_t walks) {
  int64_t whole = 0, cut = 0, stuck = 0;
  Json invalid = Json::array();
  for (int64_t seed = 0; seed < walks; ++seed) {
    std::string text;
    if (!walk(static_cast<uint64_t>(seed), text)) {
      ++(text.size() < kMostBytes ? stuck : cut);
      continue;
    }
    ++whole;
    const auto checked = judge.check(text);
    if (!checked.ok() || !checked->empty()) invalid.push_back(text);
  }
  Json verdict;
  verdict["whole"] = whole;
  verdict["cut"] = cut;
  verdict["stuck"] = stuck;
  verdict["invalid"] = std::move(invalid);
  return verdict;
}

// True when the text came to an end.
bool RandomWalks::walk(uint64_t seed, std::string& text) {
  std::mt19937_64 random(seed);
  bool is_in_string = false, is_escaped = false;
  GuardedWalk walk(*grammar_.walk(), texts_, shapes_);
  while (text.size() < kMostBytes) {
    const auto allowed = allowed_of(walk);
    if (allowed.empty()) return false;
    const bool likes_to_end = seed % 2 == 1 && random() % 4 == 0;
    const bool must_end = text.size() >= kFreeBytes;
    std::vector<base::TokenId> ends;
    for (const base::TokenId id : allowed) {
      const bool closes = id == kEnd || id == ']' || id == '}';
      if (is_in_string ? id == '"' : closes) ends.push_back(id);
    }
    // The last of the ends: what is open closes before more is said.
    const bool is_ending = (likes_to_end || must_end) && !ends.empty();
    const base::TokenId id = is_ending ? ends.back() : allowed[random() % allowed.size()];
    const auto accepted = walk.accept(id);
    if (!accepted.ok() || !*accepted) return false;
    if (id == kEnd) return true;
    text += static_cast<char>(id);
    if (id == '"' && !is_escaped) is_in_string = !is_in_string;
    is_escaped = id == '\\' && !is_escaped;
  }
  return false;
}

std::vector<base::TokenId> RandomWalks::allowed_of(GuardedWalk& walk) {
  std::vector<base::TokenId> allowed;
  if (!walk.fill_mask(mask_.words()).ok()) return allowed;
  for (base::TokenId id = 0; id <= kEnd; ++id) {
    if (mask_.allows(id)) allowed.push_back(id);
  }
  return allowed;
}

}  // namespace pawl::grammar
