// SPDX-License-Identifier: Apache-2.0
// explain: the same stages as choose, with what each one left. For people; it allocates and takes
// its time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "policy/choice.h"
#include "policy/stages.h"

namespace pawl::policy {

struct StageEffect {
  struct Entry {
    base::TokenId id;
    float logit;  // after the stage
    double p;     // in the softmax of what the stage left
  };

  std::string_view name;   // "logits" for the untouched row, then stage_name
  int64_t kept;            // ids above -inf
  std::vector<Entry> top;  // largest logit first, the lowest id first among equals
};

struct Explanation {
  std::vector<StageEffect>
      stages;     // the row, then every stage that acted: a neutral one is not there
  Choice choice;  // equal to that of choose; `top` lives in the Scratch
};

// `top`: entries per stage, at most.
Explanation explain(const Situation& situation, int32_t top, Scratch& scratch);

}  // namespace pawl::policy
