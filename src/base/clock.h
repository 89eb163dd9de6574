// SPDX-License-Identifier: Apache-2.0
// Monotonic time as int64 nanoseconds. Code that measures takes a Clock; tests give it a fake one.
#pragma once

#include <chrono>
#include <cstdint>

namespace pawl::base {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t now_ns() const = 0;  // monotonic, arbitrary origin; any thread
};

class SteadyClock final : public Clock {
 public:
  int64_t now_ns() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

// Time that moves only when a test says so.
class FakeClock final : public Clock {
 public:
  int64_t now_ns() const override { return now_ns_; }
  void advance_ns(int64_t ns) { now_ns_ += ns; }

 private:
  int64_t now_ns_ = 0;
};

}  // namespace pawl::base
