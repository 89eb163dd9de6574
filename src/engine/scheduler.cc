// SPDX-License-Identifier: Apache-2.0
#include "engine/scheduler.h"

#include <algorithm>

#include "kv/layout.h"

namespace pawl::engine {
namespace {

// Of a prompt among others, in tokens: less is not worth a segment of its own.
constexpr int64_t kLeastShare = 8;
// Of tokens_beside_decode, at most, however many prompts wait.
constexpr int64_t kMostTimes = 2;

class Planner {
 public:
  Planner(std::span<const Candidate> candidates, const Budget& budget, Plan& plan)
      : candidates_(candidates), budget_(budget), plan_(plan), last_(candidates.size()) {
    plan_.shares.clear();
    plan_.preempted.clear();
    for (const Candidate& c : candidates) running_ += c.is_running ? 1 : 0;
  }

  // last_: those from here on that ran are preempted.
  void share_decodes() {
    for (size_t i = 0; i < last_ && budget_.tokens > 0 && budget_.rows > 0; ++i) {
      const Candidate& c = candidates_[i];
      if (!decodes(c)) continue;
      const int64_t needed = std::max<int64_t>(blocks_of(c.length) - c.blocks, 0);
      while (needed > budget_.free_blocks && i < last_) preempt_last();
      if (i >= last_) break;
      budget_.free_blocks -= needed;
      take(i, std::min(c.length - c.computed, budget_.tokens), 1);
    }
  }

  void share_prompts() {
    const size_t decoding = plan_.shares.size();
    join_prompts();
    const std::span<Share> prompts = std::span(plan_.shares).subspan(decoding);
    if (prompts.empty()) return;
    limit_tokens(static_cast<int64_t>(decoding), prompts);

    const int first_priority = candidate(prompts.front()).priority;
    int64_t equals = std::ranges::count_if(
        prompts, [&](const Share& share) { return candidate(share).priority == first_priority; });
    for (Share& share : prompts.first(static_cast<size_t>(equals))) {
      give(share, std::max(kLeastShare, (budget_.tokens + equals - 1) / equals));
      --equals;
    }
    for (Share& share : prompts) give(share, budget_.tokens);
    std::erase_if(plan_.shares, [](const Share& share) { return share.tokens == 0; });
  }

 private:
  static bool decodes(const Candidate& c) {
    return c.is_running && (c.decodes || c.length - c.computed == 1);
  }

  static int64_t blocks_of(int64_t positions) {
    return (positions + kv::kBlockPositions - 1) / kv::kBlockPositions;
  }

  void take(size_t index, int64_t tokens, int64_t rows) {
    plan_.shares.push_back({static_cast<int>(index), tokens});
    budget_.tokens -= tokens;
    budget_.rows -= rows;
  }

  const Candidate& candidate(const Share& share) const {
    return candidates_[static_cast<size_t>(share.sequence)];
  }

  // Those whose prompt goes on or starts; their tokens are given afterwards.
  void join_prompts() {
    bool may_start = plan_.preempted.empty();
    for (size_t i = 0; i < last_ && budget_.rows > 0; ++i) {
      const Candidate& c = candidates_[i];
      if (c.is_running ? decodes(c) : !may_start || c.awaits_prefix) continue;
      if (!c.is_running) may_start = start(c);
      if (c.is_running || may_start) take(i, 0, 1);
    }
  }

  void limit_tokens(int64_t decoding, std::span<const Share> prompts) {
    if (decoding > 0) {
      const int64_t weight = std::clamp<int64_t>(static_cast<int64_t>(prompts.size()), decoding,
                                                 kMostTimes * decoding);
      budget_.tokens = std::min(budget_.tokens, budget_.tokens_beside_decode * weight / decoding);
    } else if (budget_.tokens_at_start > 0 && std::ranges::any_of(prompts, [&](const Share& share) {
                 return !candidate(share).is_running;
               })) {
      budget_.tokens = std::min(budget_.tokens, budget_.tokens_at_start);
    }
  }

  void give(Share& share, int64_t most) {
    const Candidate& c = candidate(share);
    int64_t tokens = std::min({c.length - c.computed - share.tokens, most, budget_.tokens});
    if (c.wants_all_rows) {
      // One row is its own already.
      tokens = std::min(tokens, budget_.rows + (share.tokens == 0 ? 1 : 0));
      budget_.rows -= tokens - (share.tokens == 0 && tokens > 0 ? 1 : 0);
    }
    share.tokens += tokens;
    budget_.tokens -= tokens;
  }

  void preempt_last() {
    do --last_;
    while (!candidates_[last_].is_running);
    plan_.preempted.push_back(static_cast<int>(last_));
    budget_.free_blocks += candidates_[last_].own_blocks;
    --running_;
  }

  bool start(const Candidate& c) {
    const int64_t needed = blocks_of(c.length) - c.blocks;
    const bool fits = running_ < budget_.sequences && needed + running_ <= budget_.free_blocks;
    if (!fits) return false;
    budget_.free_blocks -= needed;
    ++running_;
    return true;
  }

  std::span<const Candidate> candidates_;
  Budget budget_;
  Plan& plan_;
  size_t last_;
  int64_t running_ = 0;
};

}  // namespace

void plan_step(std::span<const Candidate> candidates, Budget budget, Plan& plan) {
  Planner planner(candidates, budget, plan);
  planner.share_decodes();
  planner.share_prompts();
}

}  // namespace pawl::engine
