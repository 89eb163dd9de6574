// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace pawl::base {
namespace {

Result<int> half(int x) {
  if (x % 2 != 0) return Error{ErrorCode::kInvalidArgument, "3 is odd", "x"};
  return x / 2;
}

Result<std::unique_ptr<int>> quarter(int x) {
  PAWL_TRY(const int h, half(x));
  PAWL_TRY(const int q, half(h));
  return std::make_unique<int>(q);
}

Result<void> all_even(int a, int b) {
  PAWL_TRY_VOID(half(a));
  PAWL_TRY_VOID(half(b));
  return {};
}

TEST(Result, CarriesAValueThatCanOnlyBeMoved) {
  auto r = quarter(8);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(**r, 2);
}

TEST(Result, TryReturnsTheFirstErrorUnchanged) {
  auto r = quarter(6);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(r.error().message, "3 is odd");
  EXPECT_EQ(r.error().where, "x");
  EXPECT_TRUE(all_even(2, 4).ok());
  EXPECT_FALSE(all_even(2, 3).ok());
}

TEST(ResultDeathTest, ReadingTheValueOfAnErrorIsOurMistake) {
  auto r = half(3);
  EXPECT_DEATH((void)r.value(), "a check of its own failed");
}

}  // namespace
}  // namespace pawl::base
