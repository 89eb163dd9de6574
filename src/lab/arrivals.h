// SPDX-License-Identifier: Apache-2.0
// When an open loop means to send its requests: known before the first is sent, and not moved by
// how long answers take.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace pawl::lab {

class Arrivals {
 public:
  virtual ~Arrivals() = default;
  // Nanoseconds from the start to the next request, never before the one before it; nothing after
  // the last.
  virtual std::optional<int64_t> next_ns() = 0;
};

// Independent gaps with an exponential distribution: what many users who know nothing of one
// another make. The same seed gives the same instants. The first request waits for its gap too.
class PoissonArrivals final : public Arrivals {
 public:
  // per_second: REQUIRES above 0
  PoissonArrivals(double per_second, uint64_t seed) : per_second_(per_second), seed_(seed) {}
  std::optional<int64_t> next_ns() override;

 private:
  double per_second_;
  uint64_t seed_;
  uint64_t index_ = 0;
  double at_s_ = 0;
};

// Equal gaps, the first request at 0.
class EvenArrivals final : public Arrivals {
 public:
  explicit EvenArrivals(double per_second) : per_second_(per_second) {}
  std::optional<int64_t> next_ns() override;

 private:
  double per_second_;
  int64_t index_ = 0;
};

// Instants that were recorded. They are sorted first.
class TraceArrivals final : public Arrivals {
 public:
  explicit TraceArrivals(std::vector<int64_t> offsets_ns);
  std::optional<int64_t> next_ns() override;

 private:
  std::vector<int64_t> offsets_ns_;
  size_t index_ = 0;
};

}  // namespace pawl::lab
