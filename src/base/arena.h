// SPDX-License-Identifier: Apache-2.0
// Memory in one piece, for what is asked for at start and lives long: weights, KV blocks, buffers
// of a step. Pages cost memory from their first write on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace pawl::base {

// Anonymous memory of the system, zeroed and page-aligned.
class Arena {
 public:
  Arena() = default;  // none
  // Large pages are for what is read from end to end; elsewhere they only make more of it resident.
  enum class Pages { kLarge, kSmall };
  static Result<Arena> create(int64_t bytes, Pages pages = Pages::kLarge);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace pawl::base
