// SPDX-License-Identifier: Apache-2.0
// Where two continuations part, on ids written by hand.
#include "probe/divergence.h"

#include <gtest/gtest.h>

#include <numeric>

#include "probe/diverge.h"

namespace pawl::probe {
namespace {

using base::TokenId;
using Ids = std::vector<TokenId>;

Ids counted(TokenId from, int count) {
  Ids ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), from);
  return ids;
}

TEST(Divergence, TheSameNeverParts) {
  const Ids ids = counted(0, 40);
  const Divergence d = compare(ids, ids, 40);
  EXPECT_FALSE(d.first || d.lasting || d.meets_aligned || d.meets_shifted);
}

TEST(Divergence, FirstAndLastingAreTwoThings) {
  const Divergence d = compare(Ids{1, 2, 3, 4, 5, 6}, Ids{1, 9, 3, 9, 9, 9}, 6);
  EXPECT_EQ(d.first, 1);
  EXPECT_EQ(d.lasting, 3);
  EXPECT_FALSE(d.meets_aligned);
}

TEST(Divergence, AgreementInTheLastPlaceDoesNotLast) {
  const Divergence d = compare(Ids{1, 2, 3}, Ids{9, 9, 3}, 3);
  EXPECT_EQ(d.first, 0);
  EXPECT_FALSE(d.lasting);
}

TEST(Divergence, AnAnswerThatIsOverDiffersFromOneThatGoesOn) {
  const Divergence d = compare(Ids{1, 2}, Ids{1, 2, 3, 4}, 4);
  EXPECT_EQ(d.first, 2);
  EXPECT_EQ(d.lasting, 2);
  EXPECT_FALSE(compare(Ids{1, 2}, Ids{1, 2}, 4).first);
}

TEST(Divergence, MeetsAtTheSamePositions) {
  Ids a = counted(0, 20), b = a;
  b[2] = 99;
  const Divergence d = compare(a, b, 20);
  EXPECT_EQ(d.first, 2);
  EXPECT_TRUE(d.meets_aligned);
  EXPECT_FALSE(d.meets_shifted);
  // Seven in a row are no meeting.
  b[10] = 99;
  b[18] = 99;
  EXPECT_FALSE(compare(a, b, 20).meets_aligned);
}

TEST(Divergence, MeetsShiftedBothWays) {
  const Ids a = counted(0, 30);
  Ids later{50, 51, 52};
  later.insert(later.end(), a.begin(), a.end());
  EXPECT_TRUE(compare(a, later, 30).meets_shifted);
  EXPECT_TRUE(compare(later, a, 30).meets_shifted);
  EXPECT_FALSE(compare(a, later, 30).meets_aligned);
  Ids far = counted(100, kMostShift + 1);
  far.insert(far.end(), a.begin(), a.end());
  EXPECT_FALSE(compare(a, far, 30).meets_shifted);
}

TEST(Divergence, TheCurveCountsWithinK) {
  const Ids a{1, 2, 3, 4};
  const std::vector<Divergence> cases{compare(a, Ids{9, 9, 9, 9}, 4),
                                      compare(a, Ids{1, 2, 9, 9}, 4), compare(a, a, 4)};
  const DivergenceCurve curve = curve_of(cases, 4);
  const auto hits = [&](size_t k) { return curve.points[k - 1].first.hits; };
  EXPECT_EQ((std::vector<int64_t>{hits(1), hits(2), hits(3), hits(4)}),
            (std::vector<int64_t>{1, 1, 2, 2}));
  EXPECT_EQ(curve.points[0].first.trials, 3);
}

TEST(Diverge, KnowsWhereAWordStarts) {
  EXPECT_TRUE(starts_word("The", " sea"));
  EXPECT_TRUE(starts_word("", "The"));
  EXPECT_TRUE(starts_word("end.\n", "The"));
  EXPECT_TRUE(starts_word("a", " \xC3\xA9t\xC3\xA9"));
  EXPECT_FALSE(starts_word("The", "re"));
  EXPECT_FALSE(starts_word("The", " ("));
  EXPECT_FALSE(starts_word("The", ","));
  EXPECT_FALSE(starts_word("The", " "));
  EXPECT_FALSE(starts_word("", ""));
}

TEST(Diverge, OtherWordsAreNoFormsOfOne) {
  EXPECT_TRUE(are_other_words(" sea", " lake"));
  EXPECT_FALSE(are_other_words(" The", " the"));
  EXPECT_FALSE(are_other_words(" run", " running"));
  EXPECT_FALSE(are_other_words(" a", " an"));
}

}  // namespace
}  // namespace pawl::probe
