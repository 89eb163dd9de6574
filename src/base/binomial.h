// SPDX-License-Identifier: Apache-2.0
// What a share that was counted says about the share behind it.
#pragma once

#include <cstdint>

namespace pawl::base {

struct Interval {
  double low = 0, high = 1;
};

// The interval of Clopper and Pearson ("The use of confidence or fiducial limits illustrated in the
// case of the binomial", Biometrika 26, 1934): the shares for which `hits` of `trials` or more, and
// as few or fewer, each have a probability of at least (1 - confidence) / 2. It covers the true
// share at least as often as it says. [0, 1] without trials. REQUIRES: 0 <= hits <= trials,
// 0 < confidence < 1
Interval clopper_pearson(int64_t hits, int64_t trials, double confidence = 0.95);

}  // namespace pawl::base
