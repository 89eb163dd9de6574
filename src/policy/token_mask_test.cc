// SPDX-License-Identifier: Apache-2.0
#include "policy/token_mask.h"

#include <gtest/gtest.h>

namespace pawl::policy {
namespace {

TEST(TokenMask, HoldsOneBitPerIdAndNoneBeyond) {
  for (const int32_t vocabulary : {1, 63, 64, 65, 1000}) {
    TokenMask mask(vocabulary, true);
    EXPECT_EQ(mask.allowed_count(), vocabulary);
    mask.forbid(vocabulary - 1);
    EXPECT_FALSE(mask.allows(vocabulary - 1));
    EXPECT_EQ(mask.allowed_count(), vocabulary - 1);
    mask.fill(false);
    EXPECT_EQ(mask.allowed_count(), 0);
    mask.allow(vocabulary - 1);
    EXPECT_TRUE(mask.allows(vocabulary - 1));
    EXPECT_EQ(mask.words().back(), uint64_t{1} << ((vocabulary - 1) % 64));
  }
  EXPECT_EQ(TokenMask(0, true).allowed_count(), 0);
}

TEST(TokenMaskDeathTest, AnIdOutsideOfTheVocabularyIsOurMistake) {
  const TokenMask mask(10);
  EXPECT_DEATH((void)mask.allows(10), "a check of its own failed");
  EXPECT_DEATH((void)mask.allows(-1), "a check of its own failed");
}

}  // namespace
}  // namespace pawl::policy
