// SPDX-License-Identifier: Apache-2.0
// Slots for what layers with a state keep of a sequence: one slot per sequence, whatever its
// length. Memory and bookkeeping, no arithmetic on the numbers.
// Threads: none; as the block pool.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/arena.h"
#include "base/result.h"

namespace pawl::kv {

using StateId = int32_t;

class StatePool {
 public:
  // floats: of one slot; 0 where the model has no such layers. Error kOutOfMemory, naming the bytes
  // asked for.
  static base::Result<StatePool> create(int32_t slots, int64_t floats);

  // A slot, or nothing when all are taken. Its numbers are whatever they were.
  std::optional<StateId> take();
  void release(StateId id);  // REQUIRES: taken

  // 64-byte aligned; null where a slot holds nothing. Valid as long as the pool.
  float* state(StateId id) const;

  int32_t free_slots() const { return static_cast<int32_t>(free_.size()); }
  int64_t floats() const { return floats_; }

 private:
  StatePool(base::Arena memory, int32_t slots, int64_t floats);

  base::Arena memory_;
  int64_t floats_ = 0;
  std::vector<uint8_t> is_taken_;
  std::vector<StateId> free_;  // a stack
};

}  // namespace pawl::kv
