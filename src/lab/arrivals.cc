// SPDX-License-Identifier: Apache-2.0
#include "lab/arrivals.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"

namespace pawl::lab {
namespace {

constexpr double kNsPerS = 1e9;

}  // namespace

std::optional<int64_t> PoissonArrivals::next_ns() {
  // The inverse of the distribution function; the argument of the logarithm is in (0, 1].
  at_s_ += -std::log(1 - base::uniform(seed_, index_++, 0)) / per_second_;
  return std::llround(at_s_ * kNsPerS);
}

std::optional<int64_t> EvenArrivals::next_ns() {
  return std::llround(static_cast<double>(index_++) / per_second_ * kNsPerS);
}

TraceArrivals::TraceArrivals(std::vector<int64_t> offsets_ns) : offsets_ns_(std::move(offsets_ns)) {
  std::sort(offsets_ns_.begin(), offsets_ns_.end());
}

std::optional<int64_t> TraceArrivals::next_ns() {
  if (index_ == offsets_ns_.size()) return std::nullopt;
  return offsets_ns_[index_++];
}

}  // namespace pawl::lab
