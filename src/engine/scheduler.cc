// SPDX-License-Identifier: Apache-2.0
#include "engine/scheduler.h"

#include <algorithm>

#include "kv/layout.h"

namespace pawl::engine {
namespace {

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
    if (!plan_.shares.empty())
      budget_.tokens = std::min(budget_.tokens, budget_.tokens_beside_decode);
    bool may_start = plan_.preempted.empty();
    for (size_t i = 0; i < last_ && budget_.tokens > 0 && budget_.rows > 0; ++i) {
      const Candidate& c = candidates_[i];
      const int64_t todo = c.length - c.computed;
      if (c.is_running ? decodes(c) : !may_start) continue;
      if (!c.is_running) may_start = start(c);
      if (!c.is_running && !may_start) continue;
      const int64_t tokens = std::min(todo, budget_.tokens);
      const int64_t most = c.wants_all_rows ? budget_.rows : tokens;
      take(i, std::min(tokens, most), c.wants_all_rows ? std::min(tokens, most) : 1);
    }
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
