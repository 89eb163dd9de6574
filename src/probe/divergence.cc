// SPDX-License-Identifier: Apache-2.0
#include "probe/divergence.h"

#include <algorithm>

#include "base/check.h"

namespace pawl::probe {

using base::TokenId;

namespace {

constexpr TokenId kNothing = -1;

TokenId at(std::span<const TokenId> ids, int position) {
  const auto index = static_cast<size_t>(position);
  return index < ids.size() ? ids[index] : kNothing;
}

// Whether kMeeting tokens in a row of `b`, none before `from`, stand in `a` so many positions later
// (or, below 0, earlier).
bool meets(std::span<const TokenId> a, std::span<const TokenId> b, int from, int window,
           int shift) {
  int run = 0;
  for (int i = std::max({from, from - shift, 0}); i < window && i + shift < window; ++i) {
    const TokenId id = at(b, i);
    run = id != kNothing && id == at(a, i + shift) ? run + 1 : 0;
    if (run == kMeeting) return true;
  }
  return false;
}

}  // namespace

Divergence compare(std::span<const TokenId> a, std::span<const TokenId> b, int window) {
  PAWL_CHECK(window >= 0);
  Divergence result;
  result.window = window;
  for (int i = 0; i < window; ++i) {
    if (at(a, i) == at(b, i)) {
      result.lasting.reset();
      continue;
    }
    if (!result.first) result.first = i;
    if (!result.lasting) result.lasting = i;
  }
  if (!result.first) return result;
  result.meets_aligned = meets(a, b, *result.first, window, 0);
  for (int shift = 1; shift <= kMostShift && !result.meets_shifted; ++shift) {
    result.meets_shifted =
        meets(a, b, *result.first, window, shift) || meets(a, b, *result.first, window, -shift);
  }
  return result;
}

Share share_of(int64_t hits, int64_t trials) {
  return {hits, trials, base::clopper_pearson(hits, trials)};
}

DivergenceCurve curve_of(std::span<const Divergence> cases, int most_within) {
  const auto share = [&](auto&& holds) {
    return share_of(std::count_if(cases.begin(), cases.end(), holds),
                    static_cast<int64_t>(cases.size()));
  };
  DivergenceCurve curve;
  for (int k = 1; k <= most_within; ++k) {
    curve.points.push_back(
        {k, share([&](const Divergence& d) { return d.first && *d.first < k; }),
         share([&](const Divergence& d) { return d.lasting && *d.lasting < k; })});
  }
  curve.meets_aligned = share([](const Divergence& d) { return d.meets_aligned; });
  curve.meets_shifted = share([](const Divergence& d) { return d.meets_shifted; });
  return curve;
}

}  // namespace pawl::probe
