// SPDX-License-Identifier: Apache-2.0
// Where keys and values lie in a KV block, and as what.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/dequantize.h"
#include "kernels/vector_variants.h"

namespace pawl::kernels {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(KvStore, StoredPositionsLieWhereTheContractSays) {
  const int head_dim = 19, value_dim = 20, slot = 13;
  std::vector<float> k(head_dim), v(value_dim);
  for (int i = 0; i < head_dim; ++i) k[static_cast<size_t>(i)] = 1.0f / static_cast<float>(3 + i);
  for (int i = 0; i < value_dim; ++i)
    v[static_cast<size_t>(i)] = -70000.0f / static_cast<float>(1 + i * i * i);
  for (const VectorVariant& variant : vector_variants()) {
    std::vector<uint16_t> k_block(head_dim * kKvBlock, 0xabcd),
        v_block(value_dim * kKvBlock, 0xabcd);
    variant.entries->store_kv(KvType::kF16, k.data(), head_dim, v.data(), value_dim, slot,
                              reinterpret_cast<std::byte*>(k_block.data()),
                              reinterpret_cast<std::byte*>(v_block.data()));
    for (int d = 0; d < head_dim; ++d) {
      for (int s = 0; s < kKvBlock; ++s) {
        const uint16_t expected = s == slot ? float_to_half(k[static_cast<size_t>(d)]) : 0xabcd;
        ASSERT_EQ(k_block[static_cast<size_t>(d * kKvBlock + s)], expected) << variant.name;
      }
    }
    for (int s = 0; s < kKvBlock; ++s) {
      for (int c = 0; c < value_dim; ++c) {
        const uint16_t expected = s == slot ? float_to_half(v[static_cast<size_t>(c)]) : 0xabcd;
        ASSERT_EQ(v_block[static_cast<size_t>(s * value_dim + c)], expected) << variant.name;
      }
    }
  }
}

// Groups of 32 entries, the last of 8: a plain one, one of zeros, one with NaN, a short one.
TEST(KvStore, StoredCodesAndScalesLieWhereTheContractSays) {
  const int dim = 104, slot = 13, groups = 4;
  std::vector<float> x(dim);
  for (int i = 0; i < dim; ++i) x[static_cast<size_t>(i)] = static_cast<float>(i % 7 - 3) * 0.25f;
  x[5] = -12.7f;
  std::fill(x.begin() + 32, x.begin() + 64, 1e-31f);
  x[70] = kNaN;
  x[100] = 1e-3f;
  const std::vector<float> before = x;
  for (const VectorVariant& variant : vector_variants()) {
    const auto bytes = static_cast<size_t>(kv_key_bytes(KvType::kQ8_0, dim));
    ASSERT_EQ(bytes, static_cast<size_t>(dim * 32 + groups * 32 * 2));
    std::vector<std::byte> k(bytes, std::byte{0x55}), v = k;
    variant.entries->store_kv(KvType::kQ8_0, x.data(), dim, x.data(), dim, slot, k.data(),
                              v.data());
    const auto scale_at = [&](const std::vector<std::byte>& part, int index) {
      uint16_t bits;
      std::memcpy(&bits, part.data() + dim * 32 + index * 2, 2);
      return bits;
    };
    for (int g = 0; g < groups; ++g) {
      const uint16_t scale = scale_at(k, g * 32 + slot);
      EXPECT_EQ(scale, scale_at(v, slot * groups + g)) << variant.name;
      const float value = half_to_float(scale);
      const float wanted[] = {12.7f / 127.0f, 0.0f, kNaN, 0.75f / 127.0f};
      EXPECT_TRUE(std::isnan(wanted[g]) ? std::isnan(value) : scale == float_to_half(wanted[g]))
          << variant.name << ", group " << g;
      EXPECT_EQ(scale_at(k, g * 32 + slot + 1), 0x5555) << variant.name;
    }
    for (int i = 0; i < dim; ++i) {
      const float most = i < 32 ? 12.7f : i < 96 ? 0.0f : 0.75f;
      const float inverse = most == 0 ? 0.0f : 127.0f / most;
      const int expected =
          most == 0 ? 0
                    : static_cast<int>(std::nearbyint(before[static_cast<size_t>(i)] * inverse));
      EXPECT_EQ(static_cast<int8_t>(k[static_cast<size_t>(i * 32 + slot)]), expected)
          << variant.name << " " << i;
      EXPECT_EQ(k[static_cast<size_t>(i * 32 + slot + 1)], std::byte{0x55}) << variant.name;
      EXPECT_EQ(static_cast<int8_t>(v[static_cast<size_t>(slot * dim + i)]), expected)
          << variant.name << " " << i;
    }
  }
}

// The two parts of a block each as their own type says.
TEST(KvStore, KeysMayStayInSixteenBitsBesideCodedValues) {
  const int dim = 64, slot = 5;
  std::vector<float> x(dim);
  for (int i = 0; i < dim; ++i) x[static_cast<size_t>(i)] = std::sin(static_cast<float>(i));
  for (const VectorVariant& variant : vector_variants()) {
    const auto parts = [&](KvType type) {
      std::vector<std::byte> k(static_cast<size_t>(kv_key_bytes(type, dim))),
          v(static_cast<size_t>(kv_value_bytes(type, dim)));
      variant.entries->store_kv(type, x.data(), dim, x.data(), dim, slot, k.data(), v.data());
      return std::pair(k, v);
    };
    const auto split = parts(KvType::kF16Q8_0);
    EXPECT_EQ(split.first, parts(KvType::kF16).first) << variant.name;
    EXPECT_EQ(split.second, parts(KvType::kQ8_0).second) << variant.name;
  }
}

}  // namespace
}  // namespace pawl::kernels
