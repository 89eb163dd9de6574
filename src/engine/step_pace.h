// SPDX-License-Identifier: Apache-2.0
// How long steps take, and from that how many prompt tokens make a step in which streams decode
// take about twice as long as without them. No result depends on it.
#pragma once

#include <cstdint>

namespace pawl::engine {

// Threads: the step's only. Numbers in, numbers out.
class StepPace {
 public:
  // A step of `ns` that decoded for `decodes` sequences and computed `prompt_tokens` beside.
  void record(int64_t decodes, int64_t prompt_tokens, int64_t ns);

  // At least kLeast, so that a prompt goes on; before anything is known, kFirst.
  int64_t tokens_beside_decode() const;

  static constexpr int64_t kLeast = 8;
  static constexpr int64_t kFirst = 16;

 private:
  // Running means in ns; 0: not known.
  double decode_ns_ = 0;  // of a step that only decodes
  double token_ns_ = 0;   // what one prompt token adds to a step
};

}  // namespace pawl::engine
