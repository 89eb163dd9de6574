// SPDX-License-Identifier: Apache-2.0
#include "engine/step_pace.h"

#include <algorithm>

namespace pawl::engine {
namespace {

// A step that lost its core for a while counts for little, and is forgotten in a few.
void blend(double& mean, double value) {
  constexpr double kShare = 0.25, kMostGrowth = 2;
  if (mean == 0) {
    mean = value;
  } else {
    mean += kShare * (std::min(value, kMostGrowth * mean) - mean);
  }
}

}  // namespace

void StepPace::record(int64_t decodes, int64_t prompt_tokens, int64_t ns) {
  const double time = static_cast<double>(ns), tokens = static_cast<double>(prompt_tokens);
  if (time <= 0) return;
  if (prompt_tokens == 0) {
    if (decodes > 0) blend(decode_ns_, time);
  } else if (decodes == 0) {
    blend(token_ns_, time / tokens);
  } else if (decode_ns_ > 0) {
    blend(token_ns_, std::max(time - decode_ns_, 0.1 * time) / tokens);
  }
}

int64_t StepPace::tokens_beside_decode() const {
  if (decode_ns_ == 0 || token_ns_ == 0) return kFirst;
  const auto tokens = static_cast<int64_t>(std::min(decode_ns_ / token_ns_, 1e6));
  return std::max(tokens, kLeast);
}

}  // namespace pawl::engine
