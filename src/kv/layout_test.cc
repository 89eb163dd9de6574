// SPDX-License-Identifier: Apache-2.0
#include "kv/layout.h"

#include <gtest/gtest.h>

namespace pawl::kv {
namespace {

int64_t two_bytes_each(int dim) {
  return int64_t{kBlockPositions} * dim * 2;
}

TEST(Layout, PartsFollowEachOtherWithoutOverlapAndAligned) {
  const LayerShape shapes[] = {{2, 16, 12}, {0, 0, 0}, {1, 80, 256}};
  const Layout layout(shapes, two_bytes_each, two_bytes_each);
  int64_t end = 0;
  for (int layer : {0, 2}) {
    for (int head = 0; head < shapes[layer].kv_heads; ++head) {
      EXPECT_EQ(layout.k_offset(layer, head), end);
      EXPECT_EQ(layout.k_offset(layer, head) % 64, 0);
      EXPECT_GE(layout.v_offset(layer, head), end + 32 * shapes[layer].head_dim * 2);
      end = layout.v_offset(layer, head) + (32 * shapes[layer].value_dim * 2 + 63) / 64 * 64;
    }
  }
  EXPECT_EQ(layout.block_bytes(), end);
}

// Llama-3-8B keeps 131,072 bytes per token at 16 bits: 32 layers, 8 KV heads of 128.
TEST(Layout, PositionBytesOfAKnownModel) {
  const std::vector<LayerShape> shapes(32, LayerShape{8, 128, 128});
  EXPECT_EQ(Layout(shapes, two_bytes_each, two_bytes_each).position_bytes(), 131072);
}

TEST(Layout, KeysAndValuesMayBeOfDifferentSizes) {
  const LayerShape shape{1, 64, 64};
  const Layout layout({&shape, 1}, two_bytes_each,
                      [](int dim) { return kBlockPositions * (dim + 4); });
  EXPECT_EQ(layout.v_offset(0, 0), 32 * 128);
  EXPECT_EQ(layout.block_bytes(), 32 * (128 + 68));
  EXPECT_EQ(layout.position_bytes(), 128 + 68);
}

}  // namespace
}  // namespace pawl::kv
