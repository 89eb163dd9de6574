// SPDX-License-Identifier: Apache-2.0
// Which blocks hold the keys and values of which prefix, so that a sequence that begins like an
// earlier one takes over its blocks. A tree: an entry is a block with its ids below the block
// before it, and what is found has been compared id by id, up from the salt.
//
// Bounded by the pool: an entry is a block, and the block that was released first is evicted first
// when there is no free one. Whoever holds a block holds all before it and releases from the last
// to the first, so an entry always outlives those below it.
//
// Threads: none; as the pool. Allocates when made, and never again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/token.h"
#include "kv/block_pool.h"
#include "kv/layout.h"

namespace pawl::kv {

// What keeps the prefixes of one owner from those of another.
class Salt {
 public:
  explicit Salt(std::string_view text);
  bool operator==(const Salt&) const = default;
  uint64_t hash() const { return hash_; }

 private:
  std::array<char, 64> digest_{};  // SHA-256, so that no text gives another's salt
  uint64_t hash_ = 0;
};

class PrefixCache {
 public:
  // pool: outlives the cache; all its blocks are taken and released through the cache.
  explicit PrefixCache(BlockPool& pool);

  // A block with count 1: a free one, else the oldest evictable one, which is then forgotten.
  std::optional<BlockId> take();

  // Blocks that take() can give.
  int32_t available() const { return pool_.free_blocks() + pool_.evictable_blocks(); }

  struct Found {
    int64_t positions = 0;  // in whole blocks
    int64_t held = 0;       // of these blocks, those that somebody holds: taking them over costs
                            // nothing of available()
  };
  // What reuse() would find, without the part of a block.
  Found look_up(const Salt& salt, std::span<const base::TokenId> ids) const;

  // Fills an empty table with held blocks for a prefix of ids and gives its length. The last block
  // may be a copy of one whose first ids alone agree; the copy belongs to the caller.
  int64_t reuse(const Salt& salt, std::span<const base::TokenId> ids, BlockTable& table);

  // Block `index` of the table, a whole one, is computed for good: `ids` are those of the sequence
  // from its start to the end of this block. If an equal block is there already, the table gets
  // that one instead. REQUIRES: the blocks before were inserted or reused
  void insert(const Salt& salt, std::span<const base::TokenId> ids, BlockTable& table);

  // Releases all blocks and empties the table. `ids`: those whose keys and values are computed;
  // what they fill of a last block is kept too. REQUIRES: all whole blocks of ids were inserted
  void release(const Salt& salt, std::span<const base::TokenId> ids, BlockTable& table);

 private:
  static constexpr BlockId kRoot = -1;
  static constexpr int kStep = 8;  // entries are found by their first 8, 16, 24 and 32 ids
  static constexpr int kSteps = kBlockPositions / kStep;
  static constexpr int kMostTries = 16;  // of a chain: what lies behind counts as not found

  struct Entry {
    BlockId parent = kRoot;
    int32_t count = 0;  // ids; 0: the block is no entry
    int32_t children = 0;
    std::array<base::TokenId, kBlockPositions> ids{};
    std::optional<Salt> salt;  // of those at the root
  };
  // Slot kSteps * block + step - 1 chains the entry among those that hash alike.
  struct Slot {
    int32_t next = -1, previous = -1;
    uint64_t hash = 0;
  };

  Entry& entry(BlockId id) { return entries_[static_cast<size_t>(id)]; }
  const Entry& entry(BlockId id) const { return entries_[static_cast<size_t>(id)]; }
  static uint64_t hash(const Salt& salt, BlockId parent, std::span<const base::TokenId> ids);
  int32_t& bucket(uint64_t hash) { return buckets_[hash & (buckets_.size() - 1)]; }

  struct Child {
    BlockId block = kRoot;
    int64_t common = 0;  // leading ids that agree
  };
  // The child that begins with the most of `ids`; common is 0 when none agrees in kStep of them.
  Child find(const Salt& salt, BlockId parent, std::span<const base::TokenId> ids) const;
  void add(const Salt& salt, BlockId parent, std::span<const base::TokenId> ids, BlockId block);
  void remove(BlockId block);

  BlockPool& pool_;
  std::vector<Entry> entries_;    // [blocks]
  std::vector<Slot> slots_;       // [blocks * kSteps]
  std::vector<int32_t> buckets_;  // first slot of each chain; a power of two of them
};

}  // namespace pawl::kv
