// SPDX-License-Identifier: Apache-2.0
// Fixed-size KV blocks with reference counts: memory and bookkeeping, no arithmetic on the bytes. A
// block that nobody holds is free, or evictable when it is kept for what is in it.
// Threads: none. Whoever runs the step owns the pool and every table that points into it; the
// compute threads of a step read and write the bytes of blocks that the step holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/arena.h"
#include "base/result.h"

namespace pawl::kv {

using BlockId = int32_t;

class BlockPool {
 public:
  // Reserves address space for `blocks` of `block_bytes`; pages cost memory from their first write
  // on. Error kOutOfMemory, naming the bytes asked for.
  static base::Result<BlockPool> create(int32_t blocks, int64_t block_bytes);

  BlockPool(BlockPool&&) noexcept = default;
  BlockPool& operator=(BlockPool&&) = delete;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // A block with count 1, or nothing when none is free. Its bytes are whatever they were.
  std::optional<BlockId> take();

  void hold(BlockId id);     // REQUIRES: count(id) > 0, or it is evictable
  void release(BlockId id);  // REQUIRES: count(id) > 0. At 0 it is free, or evictable if kept

  // From here on its contents are worth something without a holder. REQUIRES: count(id) > 0
  void keep(BlockId id);

  // The evictable block that was released first, or nothing.
  std::optional<BlockId> oldest_evictable() const;

  // An evictable block becomes free. REQUIRES: kept, count(id) == 0
  void forget(BlockId id);

  int32_t count(BlockId id) const { return counts_[static_cast<size_t>(id)]; }
  int32_t free_blocks() const { return static_cast<int32_t>(free_.size()); }
  int32_t evictable_blocks() const { return evictable_; }
  int32_t blocks() const { return static_cast<int32_t>(counts_.size()); }
  int64_t block_bytes() const { return block_bytes_; }

  // block_bytes() bytes, 64-byte aligned (kv/layout.h). Valid as long as the pool.
  std::byte* bytes(BlockId id) const { return memory_.data() + id * block_bytes_; }

 private:
  // Neighbours in the list of evictable blocks, which is a ring through the entry behind the last
  // block.
  struct Links {
    BlockId older = 0, newer = 0;
  };

  BlockPool(base::Arena memory, int32_t blocks, int64_t block_bytes);
  BlockId ring() const { return blocks(); }
  Links& links(BlockId id) { return links_[static_cast<size_t>(id)]; }
  void unlink(BlockId id);

  base::Arena memory_;
  int64_t block_bytes_ = 0;
  std::vector<int32_t> counts_;
  std::vector<uint8_t> is_kept_;
  std::vector<Links> links_;
  int32_t evictable_ = 0;
  std::vector<BlockId> free_;  // a stack: the block that was freed last is the warmest
};

// The blocks of one sequence: position p lies in entry p / kBlockPositions.
using BlockTable = std::vector<BlockId>;

}  // namespace pawl::kv
