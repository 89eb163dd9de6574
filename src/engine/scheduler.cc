// SPDX-License-Identifier: Apache-2.0
#include "engine/scheduler.h"

#include <algorithm>

namespace pawl::engine {

void plan_step(std::span<const Candidate> candidates, Budget budget, std::vector<Share>& plan) {
  plan.clear();
  const auto take = [&](size_t index, int64_t tokens) {
    plan.push_back({static_cast<int>(index), tokens});
    budget.tokens -= tokens;
    budget.rows -= 1;
  };
  for (size_t i = 0; i < candidates.size() && budget.tokens > 0 && budget.rows > 0; ++i) {
    const Candidate& c = candidates[i];
    if (c.is_running && c.length - c.computed == 1) take(i, 1);
  }
  for (size_t i = 0; i < candidates.size() && budget.tokens > 0 && budget.rows > 0; ++i) {
    const Candidate& c = candidates[i];
    const int64_t todo = c.length - c.computed;
    if (c.is_running && todo == 1) continue;
    if (!c.is_running) {
      if (c.blocks_needed > budget.free_blocks) break;
      budget.free_blocks -= c.blocks_needed;
    }
    take(i, std::min(todo, budget.tokens));
  }
}

}  // namespace pawl::engine
