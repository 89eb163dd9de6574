// SPDX-License-Identifier: Apache-2.0
#include "kv/block_pool.h"

#include <gtest/gtest.h>

#include <set>

namespace pawl::kv {
namespace {

TEST(BlockPool, GivesEachBlockOnceAndNothingWhenNoneIsFree) {
  auto pool = BlockPool::create(3, 128);
  ASSERT_TRUE(pool.ok());
  std::set<BlockId> seen;
  for (int i = 0; i < 3; ++i) seen.insert(pool->take().value());
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_FALSE(pool->take().has_value());
  EXPECT_EQ(pool->free_blocks(), 0);
}

TEST(BlockPool, ABlockIsFreeOnlyAfterItsLastHolder) {
  auto pool = BlockPool::create(1, 128);
  ASSERT_TRUE(pool.ok());
  const BlockId id = pool->take().value();
  pool->hold(id);
  pool->release(id);
  EXPECT_EQ(pool->free_blocks(), 0);
  pool->release(id);
  EXPECT_EQ(pool->free_blocks(), 1);
}

TEST(BlockPoolDeathTest, ReleasingTwiceIsOurMistake) {
  auto pool = BlockPool::create(1, 128);
  ASSERT_TRUE(pool.ok());
  const BlockId id = pool->take().value();
  pool->release(id);
  EXPECT_DEATH(pool->release(id), "a check of its own failed");
}

TEST(BlockPool, TooMuchMemoryIsAnErrorThatNamesTheBytes) {
  auto pool = BlockPool::create(2147483647, int64_t{1} << 50);
  ASSERT_FALSE(pool.ok());
  EXPECT_EQ(pool.error().code, base::ErrorCode::kOutOfMemory);
  EXPECT_NE(pool.error().message.find("1125899906842624"), std::string::npos);
}

TEST(BlockPool, BlocksDoNotOverlap) {
  auto pool = BlockPool::create(2, 192);
  ASSERT_TRUE(pool.ok());
  const BlockId a = pool->take().value(), b = pool->take().value();
  EXPECT_EQ(std::abs(pool->bytes(a) - pool->bytes(b)), 192);
}

}  // namespace
}  // namespace pawl::kv
