// SPDX-License-Identifier: Apache-2.0
#include "grammar/walk_constraint.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace pawl::grammar {

using base::Error;
using base::ErrorCode;
using base::Result;

struct WalkConstraint::State {
  explicit State(GuardedWalk taken) : walk(std::move(taken)) {}

  GuardedWalk walk;             // of whoever does not wait: the job's while is_busy
  std::vector<uint64_t> words;  // the next mask, while has_mask
  Result<void> filled;
  bool has_mask = false;
  std::string broken;  // why the walk cannot go on

  std::mutex mutex;
  std::condition_variable done;
  bool is_busy = false;
};

WalkConstraint::WalkConstraint(GuardedWalk walk, std::shared_ptr<MaskWorker> worker)
    : state_(std::make_shared<State>(std::move(walk))), worker_(std::move(worker)) {}

WalkConstraint::~WalkConstraint() = default;

void WalkConstraint::wait() const {
  std::unique_lock lock(state_->mutex);
  state_->done.wait(lock, [this] { return !state_->is_busy; });
}

void WalkConstraint::prepare_mask() {
  wait();
  if (worker_ == nullptr || state_->has_mask || state_->words.empty()) return;
  state_->is_busy = true;
  worker_->run([state = state_] {
    Result<void> filled = state->walk.fill_mask(state->words);
    const std::scoped_lock lock(state->mutex);
    state->filled = std::move(filled);
    state->has_mask = true;
    state->is_busy = false;
    state->done.notify_all();
  });
}

Result<void> WalkConstraint::fill_mask(policy::TokenMask& mask) {
  wait();
  State& state = *state_;
  if (!state.broken.empty()) return Error{ErrorCode::kUnsupported, state.broken, ""};
  const std::span<uint64_t> words = mask.words();
  if (state.words.size() != words.size()) {
    state.words.assign(words.size(), 0);
    state.has_mask = false;
  }
  if (!state.has_mask) {
    state.filled = state.walk.fill_mask(state.words);
    state.has_mask = true;
  }
  if (!state.filled.ok()) return state.filled;
  std::ranges::copy(state.words, words.begin());
  return {};
}

Result<void> WalkConstraint::accept(base::TokenId id) {
  wait();
  State& state = *state_;
  PAWL_TRY(const bool is_allowed, state.walk.accept(id));
  if (!is_allowed) {
    return Error{ErrorCode::kInvalidArgument,
                 "the grammar does not allow token " + std::to_string(id) + " here", ""};
  }
  state.has_mask = false;
  return {};
}

void WalkConstraint::rollback(int32_t tokens) {
  wait();
  state_->has_mask = false;
  const Result<void> undone = state_->walk.rollback(tokens);
  if (!undone.ok()) state_->broken = undone.error().message;
}

bool WalkConstraint::is_complete() const {
  wait();
  return state_->walk.is_complete();
}

std::vector<base::TokenId> WalkConstraint::forced() {
  wait();
  return state_->walk.forced();
}

}  // namespace pawl::grammar
