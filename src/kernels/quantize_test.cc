// SPDX-License-Identifier: Apache-2.0
// Rows quantised here against the bytes that the reference quantiser makes of them
// (tests/golden/quantize/make_rows.py), and what each format promises by itself.
#include "kernels/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <vector>

#include "kernels/dequantize.h"
#include "kernels/golden_text.h"

namespace pawl::kernels {
namespace {

constexpr Format kFormats[] = {Format::kQ4_0, Format::kQ8_0, Format::kQ4_K, Format::kQ5_K,
                               Format::kQ6_K};

TEST(Quantize, GivesTheBytesOfTheReferenceQuantiser) {
  const std::string text = golden_text("quantize/rows.json");
  const std::vector<std::byte> numbers = decode_base64(strings_after(text, "f32_base64").at(0));
  const int64_t cols = number_after(text, "columns"), rows = number_after(text, "rows");
  ASSERT_EQ(static_cast<int64_t>(numbers.size()), rows * cols * 4);
  std::vector<float> x(static_cast<size_t>(rows * cols));
  std::memcpy(x.data(), numbers.data(), numbers.size());
  int formats = 0;
  for (size_t at = text.find("{\"type\""); at != std::string::npos; ++formats) {
    const size_t next = text.find("{\"type\"", at + 1);
    const std::string entry = text.substr(at, next == std::string::npos ? next : next - at);
    const std::string name = strings_after(entry, "type").at(0);
    const auto format = static_cast<Format>(number_after(entry, "type_id"));
    const std::vector<std::byte> expected = decode_base64(strings_after(entry, "raw_base64").at(0));
    const int64_t bytes = raw_row_bytes(format, cols);
    ASSERT_EQ(static_cast<int64_t>(expected.size()), rows * bytes) << name;
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<std::byte> out(static_cast<size_t>(bytes) + 1);
      quantize_row(format, x.data() + row * cols, cols, out.data() + 1);  // unaligned
      for (int64_t i = 0; i < bytes; ++i) {
        ASSERT_EQ(out[static_cast<size_t>(i) + 1], expected[static_cast<size_t>(row * bytes + i)])
            << name << ", row " << row << ", byte " << i;
      }
    }
    at = next;
  }
  EXPECT_EQ(formats, 5);
}

// Half a step of the grid, by the number of codes and where they lie; K formats round scales to 6
// or 8 bits as well, which the second factor is for.
TEST(Quantize, ErrorsStayBelowAStep) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> x(1024), back(1024);
  for (float& v : x) v = uniform(random);
  const struct {
    Format format;
    double step;
  } steps[] = {{Format::kQ8_0, 1.0 / 254 + 1e-3},
               {Format::kQ4_0, 1.0 / 8},
               {Format::kQ4_K, 0.1},
               {Format::kQ5_K, 0.05},
               {Format::kQ6_K, 0.045}};
  for (const auto& [format, step] : steps) {
    std::vector<std::byte> row(static_cast<size_t>(raw_row_bytes(format, 1024)));
    quantize_row(format, x.data(), 1024, row.data());
    dequantize_row(format, row.data(), 1024, back.data());
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_NEAR(back[i], x[i], step) << format_info(format)->name << " weight " << i;
  }
}

TEST(Quantize, TheLargestAndTheSmallestNumbersGiveFiniteWeights) {
  for (const Format format : kFormats) {
    for (const float size : {kMostWeight, 1e-38f, 1e-44f, 0.0f}) {
      std::vector<float> x(256), back(256);
      for (size_t i = 0; i < x.size(); ++i) x[i] = i % 3 == 0 ? -size : i % 3 == 1 ? size : 0.0f;
      std::vector<std::byte> row(static_cast<size_t>(raw_row_bytes(format, 256)));
      quantize_row(format, x.data(), 256, row.data());
      dequantize_row(format, row.data(), 256, back.data());
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_TRUE(std::isfinite(back[i])) << format_info(format)->name << " of " << size;
        ASSERT_NEAR(back[i], x[i], size / 8 + 1e-7f) << format_info(format)->name << " of " << size;
      }
    }
  }
}

TEST(Quantize, FormatsWithoutAWriterSaySo) {
  for (const Format format : kFormats) EXPECT_TRUE(can_quantize(format));
  EXPECT_TRUE(can_quantize(Format::kF16));
  EXPECT_FALSE(can_quantize(Format::kQ2_K));
  EXPECT_FALSE(can_quantize(Format::kMXFP4));
}

}  // namespace
}  // namespace pawl::kernels
