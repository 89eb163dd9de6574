// SPDX-License-Identifier: Apache-2.0
#include "grammar/closing_constraint.h"

#include <algorithm>
#include <utility>

namespace pawl::grammar {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::TokenId;

namespace {

constexpr int kMaxRefused = 8;  // ids for one place; then the known way is gone
// Looks at the grammar for one id: first straight on, then for the shortest way.
constexpr int kStraightNodes = 80;
constexpr int kShortestNodes = 240;

}  // namespace

ClosingConstraint::ClosingConstraint(GuardedWalk walk, std::unique_ptr<WalkConstraint> masks,
                                     std::shared_ptr<const EndingWords> words,
                                     std::vector<TokenId> ending, int64_t most_tokens)
    : look_(std::move(walk)),
      masks_(std::move(masks)),
      words_(std::move(words)),
      places_(1),
      ending_(std::move(ending)),
      left_(most_tokens) {}

Result<void> ClosingConstraint::fill_mask(policy::TokenMask& mask) {
  if (!is_last_way() || ending_.empty()) return masks_->fill_mask(mask);
  mask.fill(false);
  mask.allow(ending_.front());
  return {};
}

// The known way, should the ids be a part of it.
std::optional<ClosingConstraint::Ids> ClosingConstraint::rest_behind(const Ids& ids) const {
  const auto [in_way, in_ids] = std::ranges::mismatch(ending_, ids);
  if (in_ids == ids.end()) return Ids(in_way, ending_.end());
  if (ending_.empty()) return std::nullopt;
  // The same bytes in other ids.
  std::string text, way;
  for (const TokenId id : ids) text += words_->texts->words[static_cast<size_t>(id)];
  for (const TokenId id : ending_) way += words_->texts->words[static_cast<size_t>(id)];
  if (text.empty() || !way.starts_with(text)) return std::nullopt;
  auto rest = words_->spell(std::string_view(way).substr(text.size()));
  if (rest) rest->push_back(ending_.back());
  return rest;
}

// REQUIRES: the walk took the ids
Result<std::optional<ClosingConstraint::Ids>> ClosingConstraint::look_behind(const Ids& ids,
                                                                             int64_t most) {
  // Inside a text the way is often what it was.
  if (static_cast<int64_t>(ending_.size()) <= most) {
    PAWL_TRY(const bool is_same, takes(look_, ending_));
    if (is_same) return std::optional(ending_);
  }
  JsonPlace place = places_.back();
  for (const TokenId id : ids) place.push(words_->texts->words[static_cast<size_t>(id)]);
  PAWL_TRY(auto straight,
           find_ending(look_, place, *words_,
                       {.most_tokens = most, .nodes = kStraightNodes, .takes_any = true}));
  if (straight) return straight;
  return find_ending(look_, place, *words_, {.most_tokens = most, .nodes = kShortestNodes});
}

std::optional<ClosingConstraint::Ids> ClosingConstraint::ending_behind(const Ids& ids,
                                                                       int64_t most) {
  if (most < 0) return std::nullopt;
  auto known = rest_behind(ids);
  if (known && static_cast<int64_t>(known->size()) <= most) return known;
  if (is_blind_) return std::nullopt;
  int64_t taken = 0;
  const auto look = [&]() -> Result<std::optional<Ids>> {
    for (const TokenId id : ids) {
      PAWL_TRY(const bool is_taken, look_.accept(id));
      if (!is_taken) return std::optional<Ids>();
      ++taken;
    }
    if (std::ranges::find(words_->end_ids, ids.back()) != words_->end_ids.end()) {
      return std::optional(Ids());
    }
    return look_behind(ids, most);
  };
  auto found = look();
  const bool is_back = taken == 0 || look_.rollback(taken).ok();
  is_blind_ = !found.ok() || !is_back;
  return found.ok() ? std::move(*found) : std::nullopt;
}

bool ClosingConstraint::permits(TokenId id, policy::TokenMask& mask) {
  auto ending = ending_behind({id}, left_ - 1);
  if (ending) {
    permitted_ = {id, std::move(*ending)};
    return true;
  }
  mask.forbid(id);
  if (++refused_ >= kMaxRefused || mask.allowed_count() == 0) {
    mask.fill(false);
    mask.allow(ending_.front());
  }
  return false;
}

Result<void> ClosingConstraint::accept(TokenId id) {
  if (!permitted_ || permitted_->id != id) {
    auto ending = ending_behind({id}, left_ - 1);
    if (!ending) {
      return Error{ErrorCode::kInvalidArgument,
                   "token " + std::to_string(id) + " leaves no way to end the answer in time", ""};
    }
    permitted_ = {id, std::move(*ending)};
  }
  PAWL_TRY_VOID(masks_->accept(id));
  if (!is_blind_) {
    const Result<bool> is_taken = look_.accept(id);
    is_blind_ = !is_taken.ok() || !*is_taken;
  }
  JsonPlace place = places_.back();
  place.push(words_->texts->words[static_cast<size_t>(id)]);
  places_.push_back(std::move(place));
  accepted_.push_back(id);
  ending_ = std::move(permitted_->ending);
  permitted_.reset();
  --left_;
  refused_ = 0;
  return {};
}

void ClosingConstraint::rollback(int32_t tokens) {
  masks_->rollback(tokens);
  is_blind_ = is_blind_ || !look_.rollback(tokens).ok();
  const auto begin = accepted_.end() - tokens;
  ending_.insert(ending_.begin(), begin, accepted_.end());  // it led from there to here
  accepted_.erase(begin, accepted_.end());
  places_.resize(accepted_.size() + 1);
  permitted_.reset();
  left_ += tokens;
  refused_ = 0;
}

std::vector<TokenId> ClosingConstraint::forced() {
  if (ending_.empty()) return {};
  if (is_last_way()) return {ending_.begin(), ending_.end() - 1};  // the end itself is chosen
  Ids ids = masks_->forced();
  if (ids.empty()) return {};
  auto behind = ending_behind(ids, left_ - static_cast<int64_t>(ids.size()));
  if (!behind) return {};
  ending_ = ids;
  ending_.insert(ending_.end(), behind->begin(), behind->end());
  return ids;
}

void ClosingConstraint::prepare_mask() {
  if (!is_last_way()) masks_->prepare_mask();
}

}  // namespace pawl::grammar
