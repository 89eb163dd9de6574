// SPDX-License-Identifier: Apache-2.0
// Every format against the values two other implementations agree on (tests/golden/quants: rows of
// a quantised model, and blocks of random bytes that reach every entry of the code books), bit for
// bit.
#include "kernels/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kernels/golden_text.h"

namespace pawl::kernels {
namespace {

struct Vector {
  Format format;
  std::string name;
  int64_t columns;
  std::vector<std::string> raw, f32;  // base64, a row each
};

std::vector<Vector> read_vectors(const std::string& file) {
  const std::string text = golden_text("quants/" + file);
  std::vector<Vector> vectors;
  for (size_t at = text.find("{\"type\""); at != std::string::npos;) {
    const size_t next = text.find("{\"type\"", at + 1);
    const std::string entry = text.substr(at, next == std::string::npos ? next : next - at);
    vectors.push_back({static_cast<Format>(number_after(entry, "type_id")),
                       strings_after(entry, "type").at(0), number_after(entry, "columns"),
                       strings_after(entry, "raw_base64"), strings_after(entry, "f32_base64")});
    at = next;
  }
  return vectors;
}

// Dequantises `raw` and compares every bit with `f32`.
void expect_same_bits(const Vector& vector, const std::string& raw, const std::string& f32) {
  const FormatInfo* info = format_info(vector.format);
  ASSERT_NE(info, nullptr) << vector.name;
  EXPECT_EQ(info->name, vector.name);
  std::vector<std::byte> row = decode_base64(raw);
  const std::vector<std::byte> expected = decode_base64(f32);
  const auto cols = static_cast<int64_t>(expected.size() / sizeof(float));
  ASSERT_GT(cols, 0);
  ASSERT_EQ(static_cast<int64_t>(row.size()), raw_row_bytes(vector.format, cols)) << vector.name;
  row.insert(row.begin(), std::byte{0xff});  // so that nothing relies on alignment
  std::vector<float> got(static_cast<size_t>(cols));
  dequantize_row(vector.format, row.data() + 1, cols, got.data());
  for (int64_t i = 0; i < cols; ++i) {
    uint32_t want;
    std::memcpy(&want, expected.data() + i * 4, 4);
    ASSERT_EQ(std::bit_cast<uint32_t>(got[static_cast<size_t>(i)]), want)
        << vector.name << " weight " << i;
  }
}

TEST(Dequantize, RowsOfAQuantisedModelInEveryFormat) {
  const std::vector<Vector> vectors = read_vectors("rows.json");
  std::set<std::string> names;
  for (const Vector& vector : vectors) {
    names.insert(vector.name);
    ASSERT_EQ(vector.raw.size(), vector.f32.size());
    ASSERT_EQ(vector.raw.size(), 4u);
    for (size_t i = 0; i < vector.raw.size(); ++i)
      expect_same_bits(vector, vector.raw[i], vector.f32[i]);
  }
  EXPECT_EQ(names.size(), 24u);  // every format but F32
}

TEST(Dequantize, RandomBlocksReachEveryCode) {
  const std::vector<Vector> vectors = read_vectors("blocks.json");
  EXPECT_EQ(vectors.size(), 22u);  // every format but F32, F16, BF16
  for (const Vector& vector : vectors) expect_same_bits(vector, vector.raw.at(0), vector.f32.at(0));
}

TEST(Dequantize, F32IsCopied) {
  const float row[3] = {1.5f, -0.0f, std::numeric_limits<float>::denorm_min()};
  float out[3];
  dequantize_row(Format::kF32, reinterpret_cast<const std::byte*>(row), 3, out);
  EXPECT_EQ(std::memcmp(row, out, sizeof(row)), 0);
}

// IEEE 754 by its definition, in double precision.
double half_by_definition(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double mantissa = bits & 1023;
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 31) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(Half, AllValuesAreExactAndComeBack) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const double expected = half_by_definition(bits);
    const float got = half_to_float(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << i;
      ASSERT_EQ(float_to_half(got) & 0x7c00, 0x7c00) << i;
      ASSERT_NE(float_to_half(got) & 0x03ff, 0) << i;
      continue;
    }
    ASSERT_EQ(static_cast<double>(got), expected) << i;
    ASSERT_EQ(std::signbit(got), std::signbit(expected)) << i;
    ASSERT_EQ(float_to_half(got), bits) << i;
  }
}

TEST(BFloat16, AllValuesAreTheUpperHalfOfAFloat) {
  for (uint32_t i = 0; i < 65536; ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(bfloat16_to_float(static_cast<uint16_t>(i))), i << 16);
  }
}

// The half nearest to a finite value, found by bisection over all of them in double precision; ties
// to even.
uint16_t nearest_half(double value) {
  const double magnitude = std::fabs(value);
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  uint16_t low = 0;
  uint16_t high = 0x7c00;  // stands for 65536, where the next half would be
  const auto worth = [](uint16_t bits) {
    return bits == 0x7c00 ? 65536.0 : half_by_definition(bits);
  };
  if (magnitude >= 65536.0) return static_cast<uint16_t>(sign | 0x7c00);
  while (high - low > 1) {
    const auto middle = static_cast<uint16_t>((low + high) / 2);
    (worth(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - worth(low);
  const double above = worth(high) - magnitude;
  const bool up = above < below || (above == below && (low & 1) != 0);
  return static_cast<uint16_t>(sign | (up ? high : low));
}

TEST(Half, FromFloatIsNearestTiesToEven) {
  std::vector<float> values = {
      0.0f,  -0.0f,         65504.0f,      65519.0f,      65519.99f, 65520.0f,      -65520.0f,
      1e30f, 5.9604645e-8f, 2.9802322e-8f, 2.9802326e-8f, 1e-30f,    6.1035156e-5f, 6.0975552e-5f};
  for (uint32_t i = 0; i < 0x7c00; i += 3) {  // every tie between neighbours, and both sides of it
    const float low = half_to_float(static_cast<uint16_t>(i));
    const float high = i + 1 == 0x7c00 ? 65536.0f : half_to_float(static_cast<uint16_t>(i + 1));
    const float tie = low + (high - low) / 2;
    for (float v : {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 1e9f)}) {
      values.push_back(v);
      values.push_back(-v);
    }
  }
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(value)) values.push_back(value);
  }
  for (float value : values) ASSERT_EQ(float_to_half(value), nearest_half(value)) << value;
}

TEST(Half, FromInfinityAndNaN) {
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_EQ(float_to_half(-std::numeric_limits<float>::infinity()), 0xfc00);
  for (uint32_t payload : {0x7f800001u, 0x7fc00000u, 0xff800001u, 0xffffffffu}) {
    const uint16_t half = float_to_half(std::bit_cast<float>(payload));
    EXPECT_EQ(half & 0x7c00, 0x7c00);
    EXPECT_NE(half & 0x03ff, 0);
  }
}

TEST(Formats, AreAsTheFileSaysAndUnknownOnesAreNull) {
  EXPECT_EQ(format_info(static_cast<Format>(4)), nullptr);
  EXPECT_EQ(format_info(static_cast<Format>(9999)), nullptr);
  EXPECT_EQ(raw_row_bytes(Format::kQ4_K, 1024), 4 * 144);
  EXPECT_EQ(raw_row_bytes(Format::kF16, 3), 6);
}

}  // namespace
}  // namespace pawl::kernels
