// SPDX-License-Identifier: Apache-2.0
#include "kv/block_pool.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace pawl::kv {

base::Result<BlockPool> BlockPool::create(int32_t blocks, int64_t block_bytes) {
  PAWL_CHECK(blocks > 0 && block_bytes >= 0);
  block_bytes = std::max<int64_t>(block_bytes, 64);
  int64_t total = 0;
  if (__builtin_mul_overflow(int64_t{blocks}, block_bytes, &total)) total = INT64_MAX;
  auto memory = base::Arena::create(total);
  if (!memory.ok()) {
    return base::Error{base::ErrorCode::kOutOfMemory,
                       "no memory for " + std::to_string(blocks) + " KV blocks of " +
                           std::to_string(block_bytes) + " bytes; a smaller context needs less",
                       "kv"};
  }
  return BlockPool(std::move(memory).value(), blocks, block_bytes);
}

BlockPool::BlockPool(base::Arena memory, int32_t blocks, int64_t block_bytes)
    : memory_(std::move(memory)),
      block_bytes_(block_bytes),
      counts_(static_cast<size_t>(blocks), 0),
      is_kept_(static_cast<size_t>(blocks), 0),
      links_(static_cast<size_t>(blocks) + 1) {
  links(ring()) = {ring(), ring()};
  free_.reserve(static_cast<size_t>(blocks));
  for (BlockId id = blocks - 1; id >= 0; --id) free_.push_back(id);
}

std::optional<BlockId> BlockPool::take() {
  if (free_.empty()) return std::nullopt;
  const BlockId id = free_.back();
  free_.pop_back();
  counts_[static_cast<size_t>(id)] = 1;
  return id;
}

void BlockPool::hold(BlockId id) {
  const size_t index = static_cast<size_t>(id);
  PAWL_CHECK(counts_[index] > 0 || is_kept_[index] != 0);
  if (counts_[index]++ == 0) unlink(id);
}

void BlockPool::release(BlockId id) {
  const size_t index = static_cast<size_t>(id);
  PAWL_CHECK(counts_[index] > 0);
  if (--counts_[index] > 0) return;
  if (is_kept_[index] == 0) {
    free_.push_back(id);
    return;
  }
  const BlockId newest = links(ring()).older;
  links(id) = {newest, ring()};
  links(newest).newer = id;
  links(ring()).older = id;
  ++evictable_;
}

void BlockPool::keep(BlockId id) {
  PAWL_CHECK(count(id) > 0);
  is_kept_[static_cast<size_t>(id)] = 1;
}

std::optional<BlockId> BlockPool::oldest_evictable() const {
  const BlockId oldest = links_[static_cast<size_t>(ring())].newer;
  if (oldest == ring()) return std::nullopt;
  return oldest;
}

void BlockPool::forget(BlockId id) {
  const size_t index = static_cast<size_t>(id);
  PAWL_CHECK(counts_[index] == 0 && is_kept_[index] != 0);
  unlink(id);
  is_kept_[index] = 0;
  free_.push_back(id);
}

void BlockPool::unlink(BlockId id) {
  const Links at = links(id);
  links(at.older).newer = at.newer;
  links(at.newer).older = at.older;
  --evictable_;
}

}  // namespace pawl::kv
