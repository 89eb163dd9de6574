// SPDX-License-Identifier: Apache-2.0
#include "kv/state_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

namespace pawl::kv {
namespace {

TEST(StatePool, GivesEachSlotOnceAndTakesItBack) {
  auto pool = StatePool::create(3, 5);
  ASSERT_TRUE(pool.ok());
  std::set<StateId> seen;
  for (int i = 0; i < 3; ++i) seen.insert(pool->take().value());
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_FALSE(pool->take().has_value());
  pool->release(1);
  EXPECT_EQ(pool->free_slots(), 1);
  EXPECT_EQ(pool->take(), std::optional<StateId>(1));
}

TEST(StatePool, SlotsDoNotOverlapAndAreAligned) {
  auto pool = StatePool::create(2, 17);
  ASSERT_TRUE(pool.ok());
  float* first = pool->state(0);
  float* second = pool->state(1);
  EXPECT_GE(std::abs(second - first), 17);
  for (float* at : {first, second}) EXPECT_EQ(reinterpret_cast<uintptr_t>(at) % 64, 0u);
  std::fill_n(first, 17, 1.0f);
  EXPECT_EQ(*std::max_element(second, second + 17), 0.0f);
}

TEST(StatePool, AModelWithoutSuchLayersHasSlotsThatHoldNothing) {
  auto pool = StatePool::create(1, 0);
  ASSERT_TRUE(pool.ok());
  EXPECT_EQ(pool->state(pool->take().value()), nullptr);
}

TEST(StatePoolDeathTest, ReleasingTwiceIsOurMistake) {
  auto pool = StatePool::create(1, 1);
  ASSERT_TRUE(pool.ok());
  const StateId id = pool->take().value();
  pool->release(id);
  EXPECT_DEATH(pool->release(id), "a check of its own failed");
}

TEST(StatePool, TooMuchMemoryIsAnErrorThatNamesTheBytes) {
  auto pool = StatePool::create(2147483647, int64_t{1} << 40);
  ASSERT_FALSE(pool.ok());
  EXPECT_EQ(pool.error().code, base::ErrorCode::kOutOfMemory);
  EXPECT_NE(pool.error().message.find("4398046511104"), std::string::npos);
}

}  // namespace
}  // namespace pawl::kv
