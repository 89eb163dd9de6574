// SPDX-License-Identifier: Apache-2.0
// How far a number of requests is, with the time left: on a terminal one line that is drawn over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace pawl::cli {

// Threads: one. `clock` outlives it.
class LabProgress {
 public:
  // weight: of all requests, in any unit that grows with their time.
  LabProgress(bool is_quiet, size_t requests, double weight, const base::Clock& clock);
  ~LabProgress();  // clears the line
  LabProgress(const LabProgress&) = delete;
  LabProgress& operator=(const LabProgress&) = delete;

  // One request more is over; `what` it was.
  void advance(double weight, std::string_view what);

 private:
  bool is_shown_;
  const base::Clock& clock_;
  int64_t start_ns_;
  size_t done_ = 0, all_;
  double done_weight_ = 0, all_weight_;
};

}  // namespace pawl::cli
