// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include <gtest/gtest.h>

#include <utility>

namespace pawl::base {
namespace {

TEST(Arena, IsZeroedAndAligned) {
  for (const auto pages : {Arena::Pages::kLarge, Arena::Pages::kSmall}) {
    auto arena = Arena::create(100000, pages);
    ASSERT_TRUE(arena.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->data()) % 4096, 0u);
    for (int i = 0; i < 100000; ++i) ASSERT_EQ(arena->data()[i], std::byte{0});
  }
}

TEST(Arena, MovingKeepsTheAddress) {
  auto arena = Arena::create(64);
  ASSERT_TRUE(arena.ok());
  std::byte* const data = arena->data();
  data[63] = std::byte{7};
  Arena moved = std::move(*arena);
  EXPECT_EQ(moved.data(), data);
  EXPECT_EQ(moved.data()[63], std::byte{7});
}

TEST(Arena, TooMuchIsAnErrorThatNamesTheBytes) {
  for (const int64_t bytes : {int64_t{1} << 60, INT64_MAX}) {
    auto arena = Arena::create(bytes);
    ASSERT_FALSE(arena.ok());
    EXPECT_EQ(arena.error().code, ErrorCode::kOutOfMemory);
    EXPECT_NE(arena.error().message.find(std::to_string(bytes)), std::string::npos);
  }
}

}  // namespace
}  // namespace pawl::base
