// SPDX-License-Identifier: Apache-2.0
// When things happened to a request, in ns of the engine's clock; 0 where they did not happen.
#pragma once

#include <cstdint>

namespace pawl::engine {

struct Timeline {
  int64_t received_ns = 0;
  int64_t scheduled_ns = 0;    // start of the first batch it was part of
  int64_t first_token_ns = 0;  // first token selected: the prompt is computed
  int64_t last_token_ns = 0;
  int64_t finished_ns = 0;
};

}  // namespace pawl::engine
