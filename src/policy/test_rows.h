// SPDX-License-Identifier: Apache-2.0
// Rows of logits for the tests: made here, from seeds, the same everywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/rng.h"

namespace pawl::policy {

// Normally distributed logits (Box and Muller).
inline std::vector<float> normal_row(size_t size, double deviation, uint64_t seed) {
  std::vector<float> row(size);
  for (size_t i = 0; i < size; ++i) {
    const double u = 1 - base::uniform(seed, i, 0);
    const double v = base::uniform(seed, i, 1);
    row[i] = static_cast<float>(deviation * std::sqrt(-2 * std::log(u)) *
                                std::cos(6.283185307179586 * v));
  }
  return row;
}

}  // namespace pawl::policy
