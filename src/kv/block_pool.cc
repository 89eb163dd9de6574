// SPDX-License-Identifier: Apache-2.0
#include "kv/block_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace pawl::kv {

base::Result<BlockPool> BlockPool::create(int32_t blocks, int64_t block_bytes) {
  PAWL_CHECK(blocks > 0 && block_bytes >= 0);
  block_bytes = std::max<int64_t>(block_bytes, 64);
  int64_t total = 0;
  void* data = MAP_FAILED;
  if (!__builtin_mul_overflow(int64_t{blocks}, block_bytes, &total)) {
    data = mmap(nullptr, static_cast<size_t>(total), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (data == MAP_FAILED) {
    return base::Error{base::ErrorCode::kOutOfMemory,
                       "no memory for " + std::to_string(blocks) + " KV blocks of " +
                           std::to_string(block_bytes) + " bytes; a smaller context needs less",
                       "kv"};
  }
  madvise(data, static_cast<size_t>(total), MADV_HUGEPAGE);  // fewer TLB misses; only advice
  return BlockPool(static_cast<std::byte*>(data), blocks, block_bytes);
}

BlockPool::BlockPool(std::byte* data, int32_t blocks, int64_t block_bytes)
    : data_(data), block_bytes_(block_bytes), counts_(static_cast<size_t>(blocks), 0) {
  free_.reserve(static_cast<size_t>(blocks));
  for (BlockId id = blocks - 1; id >= 0; --id) free_.push_back(id);
}

BlockPool::BlockPool(BlockPool&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      block_bytes_(other.block_bytes_),
      counts_(std::move(other.counts_)),
      free_(std::move(other.free_)) {}

BlockPool::~BlockPool() {
  if (data_ != nullptr) munmap(data_, counts_.size() * static_cast<size_t>(block_bytes_));
}

std::optional<BlockId> BlockPool::take() {
  if (free_.empty()) return std::nullopt;
  const BlockId id = free_.back();
  free_.pop_back();
  counts_[static_cast<size_t>(id)] = 1;
  return id;
}

void BlockPool::hold(BlockId id) {
  PAWL_CHECK(count(id) > 0);
  ++counts_[static_cast<size_t>(id)];
}

void BlockPool::release(BlockId id) {
  PAWL_CHECK(count(id) > 0);
  if (--counts_[static_cast<size_t>(id)] == 0) free_.push_back(id);
}

}  // namespace pawl::kv
