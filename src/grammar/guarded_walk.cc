// SPDX-License-Identifier: Apache-2.0
#include "grammar/guarded_walk.h"

#include <algorithm>
#include <bit>

namespace pawl::grammar {

using base::Result;
using base::TokenId;

TokenTexts::TokenTexts(std::vector<std::string> given) : words(std::move(given)) {
  for (size_t i = 0; i < words.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const auto count = std::ranges::count(words[i], '"');
    if (count > 0) {
      quotes.push_back(id);
      const std::string head = words[i].substr(0, words[i].find('"'));
      by_head[head].push_back(id);
      if (count > 2 || head.find('\\') != std::string::npos) unusual.push_back(id);
    }
    if (count > 1) two_quotes.push_back(id);
    if (words[i].find_first_of("\",]}") != std::string::npos) marks.push_back(id);
    const size_t first = words[i].find_first_not_of(" \t\n\r");
    if (first != std::string::npos &&
        std::string_view("tfn").find(words[i][first]) != std::string_view::npos) {
      words_of_json.push_back(id);
    }
  }
}

GuardedWalk::GuardedWalk(bridge::Walk walk, std::shared_ptr<const TokenTexts> texts,
                         std::shared_ptr<const GuardShapes> shapes, std::string_view mark)
    : walk_(std::move(walk)), texts_(std::move(texts)), thinking_(std::string(mark)) {
  if (shapes != nullptr) guard_.emplace(std::move(shapes));
}

Result<void> GuardedWalk::fill_mask(std::span<uint64_t> words) {
  PAWL_TRY_VOID(walk_.fill_mask(words));
  // What ends thinking and begins an answer in one token has nothing yet that could come twice.
  const bool is_guarded = guard_ && thinking_.is_behind();
  const GuardLook look = is_guarded ? guard_->look() : GuardLook::kNone;
  const auto check = [&](TokenId id) {
    const auto place = static_cast<size_t>(id);
    uint64_t& word = words[place / 64];
    const uint64_t bit = uint64_t{1} << (place % 64);
    if ((word & bit) != 0 && !guard_->allows(texts_->words[place])) word &= ~bit;
  };
  switch (look) {
    case GuardLook::kNone:
      break;
    case GuardLook::kTwoQuotes:
      std::ranges::for_each(texts_->two_quotes, check);
      break;
    case GuardLook::kOneQuote:
      if (const auto rests = guard_->key_rests()) {
        for (const std::string& rest : *rests) {
          const auto found = texts_->by_head.find(rest);
          if (found != texts_->by_head.end()) std::ranges::for_each(found->second, check);
        }
        std::ranges::for_each(texts_->unusual, check);
      } else {
        std::ranges::for_each(texts_->quotes, check);
      }
      break;
    case GuardLook::kMarks:
      std::ranges::for_each(texts_->marks, check);
      std::ranges::for_each(texts_->words_of_json, check);
      break;
    case GuardLook::kAll:
      for (size_t i = 0; i < words.size(); ++i) {
        for (uint64_t left = words[i]; left != 0; left &= left - 1) {
          const size_t place = i * 64 + static_cast<size_t>(std::countr_zero(left));
          if (place < texts_->words.size()) check(static_cast<TokenId>(place));
        }
      }
      break;
  }
  return {};
}

Result<bool> GuardedWalk::accept(TokenId id) {
  const bool is_known = id >= 0 && static_cast<size_t>(id) < texts_->words.size();
  const std::string_view word =
      is_known ? std::string_view(texts_->words[static_cast<size_t>(id)]) : std::string_view();
  const std::string_view guarded = guard_ ? thinking_.behind(word) : std::string_view();
  if (guard_ && is_known && !guard_->allows(guarded)) return false;
  PAWL_TRY(const bool is_accepted, walk_.accept(id));
  if (is_accepted && guard_) {
    guard_->push(guarded);
    thinking_.push(word);
  }
  return is_accepted;
}

Result<void> GuardedWalk::rollback(int64_t tokens) {
  if (guard_) {
    guard_->pop(static_cast<size_t>(tokens));
    thinking_.pop(static_cast<size_t>(tokens));
  }
  return walk_.rollback(tokens);
}

}  // namespace pawl::grammar
