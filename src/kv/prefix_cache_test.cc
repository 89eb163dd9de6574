// SPDX-License-Identifier: Apache-2.0
#include "kv/prefix_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace pawl::kv {
namespace {

using base::TokenId;
using Ids = std::vector<TokenId>;

// A pool of small blocks, and sequences that compute: a block's first bytes say whose ids are in
// it.
class PrefixCacheTest : public testing::Test {
 protected:
  void make(int32_t blocks) {
    auto pool = BlockPool::create(blocks, 64);
    ASSERT_TRUE(pool.ok());
    pool_.emplace(std::move(pool).value());
    cache_.emplace(*pool_);
  }

  static Ids numbered(int count, int salt = 0) {
    Ids ids;
    for (int i = 0; i < count; ++i) ids.push_back(1000 * salt + i);
    return ids;
  }

  // Begins like something, computes the rest, inserts what is whole. Gives what was reused.
  int64_t run(const Salt& salt, const Ids& ids, BlockTable& table) {
    const int64_t reused = cache_->reuse(salt, ids, table);
    const size_t blocks = (ids.size() + kBlockPositions - 1) / kBlockPositions;
    while (table.size() < blocks) {
      const auto block = cache_->take();
      if (!block) break;
      table.push_back(*block);
    }
    for (size_t end = kBlockPositions; end <= ids.size(); end += kBlockPositions)
      cache_->insert(salt, std::span(ids).first(end), table);
    return reused;
  }
  int64_t run_and_release(const Salt& salt, const Ids& ids) {
    BlockTable table;
    const int64_t reused = run(salt, ids, table);
    cache_->release(salt, ids, table);
    return reused;
  }

  const Salt none_{""};
  std::optional<BlockPool> pool_;
  std::optional<PrefixCache> cache_;
};

TEST_F(PrefixCacheTest, S048_APrefixIsFoundToTheIdEvenWithinABlock) {
  make(64);
  Ids first = numbered(500), second = first;
  for (int i = 0; i < 30; ++i) first.push_back(5000 + i), second.push_back(6000 + i);
  EXPECT_EQ(run_and_release(none_, first), 0);
  EXPECT_EQ(run_and_release(none_, second), 500);
  EXPECT_EQ(run_and_release(none_, first), 530);
}

TEST_F(PrefixCacheTest, WhatABlockHoldsInPartIsFoundToo) {
  make(64);
  run_and_release(none_, numbered(40));
  EXPECT_EQ(run_and_release(none_, numbered(200)), 40);
}

TEST_F(PrefixCacheTest, LessThanEightIdsOfABlockAreNotWorthACopy) {
  make(64);
  run_and_release(none_, numbered(39));
  EXPECT_EQ(run_and_release(none_, numbered(200)), 32);
}

TEST_F(PrefixCacheTest, ACopyLeavesTheOriginalAsItIs) {
  make(8);
  BlockTable first, second;
  run(none_, numbered(32), first);
  *pool_->bytes(first[0]) = std::byte{7};
  Ids other = numbered(20);
  other.push_back(1);
  EXPECT_EQ(cache_->reuse(none_, other, second), 20);
  EXPECT_NE(first[0], second[0]);
  EXPECT_EQ(*pool_->bytes(second[0]), std::byte{7});
}

TEST_F(PrefixCacheTest, NothingIsSharedBetweenSalts) {
  make(64);
  const Salt a("key a"), b("key b");
  run_and_release(a, numbered(110));
  EXPECT_EQ(run_and_release(b, numbered(110)), 0);
  EXPECT_EQ(run_and_release(a, numbered(110)), 110);
}

TEST_F(PrefixCacheTest, TheSameIdsAfterAnotherBeginningAreAnother) {
  make(64);
  Ids first = numbered(32, 1), second = numbered(32, 2);
  const Ids tail = numbered(32, 3);
  first.insert(first.end(), tail.begin(), tail.end());
  second.insert(second.end(), tail.begin(), tail.end());
  run_and_release(none_, first);
  EXPECT_EQ(run_and_release(none_, second), 0);
}

TEST_F(PrefixCacheTest, EqualBlocksComputedSideBySideBecomeOne) {
  make(64);
  BlockTable first, second;
  Ids ids = numbered(64);
  for (BlockTable* table : {&first, &second}) {
    while (table->size() < 2) table->push_back(cache_->take().value());
  }
  for (BlockTable* table : {&first, &second}) {
    cache_->insert(none_, std::span(ids).first(32), *table);
    cache_->insert(none_, ids, *table);
  }
  EXPECT_EQ(first, second);
  EXPECT_EQ(cache_->available(), 62);
  EXPECT_EQ(cache_->look_up(none_, ids).held, 2);
  cache_->release(none_, ids, first);
  cache_->release(none_, ids, second);
  EXPECT_EQ(cache_->available(), 64);
  EXPECT_EQ(cache_->look_up(none_, ids).held, 0);
  EXPECT_EQ(cache_->look_up(none_, ids).positions, 64);
}

TEST_F(PrefixCacheTest, WhatWasUsedLongestAgoGoesFirstAndItsEndBeforeItsBeginning) {
  make(4);
  run_and_release(none_, numbered(64, 1));
  run_and_release(none_, numbered(64, 2));
  run_and_release(none_, numbered(64, 1));  // used again
  run_and_release(none_, numbered(32, 3));  // takes the end of 2
  EXPECT_EQ(cache_->look_up(none_, numbered(64, 1)).positions, 64);
  EXPECT_EQ(cache_->look_up(none_, numbered(64, 2)).positions, 32);
}

TEST_F(PrefixCacheTest, S051_TenThousandPrefixesStayWithinThePool) {
  make(100);
  for (int i = 0; i < 10000; ++i) {
    run_and_release(none_, numbered(200, i));
    ASSERT_EQ(cache_->available(), 100);
  }
  EXPECT_EQ(run_and_release(none_, numbered(200, 9999)), 200);
  EXPECT_EQ(run_and_release(none_, numbered(200, 0)), 0);
}

// Random lives over a small alphabet. What is found must have been said before, whole, by the same
// salt: the contents of a block are what was written into it for exactly these ids.
TEST_F(PrefixCacheTest, WhatIsReusedWasComputedForTheseIds) {
  make(24);
  std::mt19937 random(1);
  struct Life {
    Ids ids;
    int salt = 0;
    BlockTable table;
  };
  const Salt salts[] = {Salt("a"), Salt("b")};
  // Of each block: the prefix it was computed for, with the salt before it.
  std::map<BlockId, Ids> written;
  std::vector<Life> lives;
  int64_t reused_in_all = 0;
  for (int round = 0; round < 20000; ++round) {
    if (lives.size() < 4 && random() % 2 == 0) {
      Life life;
      life.salt = static_cast<int>(random() % 2);
      const size_t length = 1 + random() % 150;
      while (life.ids.size() < length) {
        const TokenId run_id = static_cast<TokenId>(random() % 2);
        for (size_t i = 0; i < 20 && life.ids.size() < length; ++i) life.ids.push_back(run_id);
      }
      const int64_t reused = cache_->reuse(salts[life.salt], life.ids, life.table);
      reused_in_all += reused;
      ASSERT_LE(reused, static_cast<int64_t>(life.ids.size()));
      ASSERT_EQ(life.table.size(), static_cast<size_t>((reused + 31) / 32));
      for (int64_t p = 0; p < reused; p += 32) {
        const BlockId block = life.table[static_cast<size_t>(p / 32)];
        Ids prefix{life.salt};
        const int64_t end = std::min<int64_t>(p + 32, reused);
        prefix.insert(prefix.end(), life.ids.begin(), life.ids.begin() + end);
        if (end % 32 != 0) continue;  // a copy of a longer one
        ASSERT_EQ(written.at(block), prefix);
      }
      const size_t blocks = (life.ids.size() + 31) / 32;
      while (life.table.size() < blocks) {
        const auto block = cache_->take();
        if (!block) break;
        life.table.push_back(*block);
      }
      const size_t computed = std::min(life.ids.size(), life.table.size() * 32);
      life.ids.resize(computed);
      for (size_t end = 32; end <= computed; end += 32) {
        if (static_cast<int64_t>(end) > reused) {
          Ids prefix{life.salt};
          prefix.insert(prefix.end(), life.ids.begin(),
                        life.ids.begin() + static_cast<ptrdiff_t>(end));
          written[life.table[end / 32 - 1]] = prefix;
        }
        cache_->insert(salts[life.salt], std::span(life.ids).first(end), life.table);
      }
      lives.push_back(std::move(life));
    } else if (!lives.empty()) {
      Life& life = lives[random() % lives.size()];
      cache_->release(salts[life.salt], life.ids, life.table);
      std::swap(life, lives.back());
      lives.pop_back();
    }
  }
  for (Life& life : lives) cache_->release(salts[life.salt], life.ids, life.table);
  EXPECT_EQ(cache_->available(), 24);
  EXPECT_GT(reused_in_all, 100000);
}

}  // namespace
}  // namespace pawl::kv
