// SPDX-License-Identifier: Apache-2.0
// Two continuations after one changed word: where they part, and whether they meet again. Numbers
// only, no model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/binomial.h"
#include "base/token.h"

namespace pawl::probe {

// Tokens in a row that make a meeting, and the largest shift at which one is looked for.
inline constexpr int kMeeting = 8;
inline constexpr int kMostShift = 8;

// Positions count from the token behind the changed one. Where a continuation is over, it has
// nothing; two that have nothing are the same there.
struct Divergence {
  int window = 0;            // positions compared
  std::optional<int> first;  // the first that differs
  // The first from which all differ, up to the end of the window; none when the last is the same.
  std::optional<int> lasting;
  bool meets_aligned = false;  // kMeeting tokens in a row the same at the same positions, after
                               // they differed
  bool meets_shifted = false;  // or at positions up to kMostShift apart
};

// REQUIRES: window >= 0
Divergence compare(std::span<const base::TokenId> a, std::span<const base::TokenId> b, int window);

struct Share {
  int64_t hits = 0, trials = 0;
  base::Interval interval;  // Clopper–Pearson, 95 %
  double value() const {
    return trials > 0 ? static_cast<double>(hits) / static_cast<double>(trials) : 0;
  }
};
Share share_of(int64_t hits, int64_t trials);

struct DivergenceCurve {
  struct Point {
    int within = 0;  // tokens behind the change
    Share first, lasting;
  };
  std::vector<Point> points;  // within 1, 2, …
  Share meets_aligned, meets_shifted;
};
DivergenceCurve curve_of(std::span<const Divergence> cases, int most_within);

}  // namespace pawl::probe
