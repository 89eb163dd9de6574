// SPDX-License-Identifier: Apache-2.0
// The matrix products: against sums in double precision, and every variant of this machine against
// the definition, bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/test_weights.h"

namespace pawl::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// [tokens][cols] floats, and the same quantised by a table's own entry.
struct Activations {
  int64_t tokens, cols;
  std::vector<float> x;
  AlignedBytes a8;

  Activations(int64_t token_count, int64_t col_count, float magnitude, std::mt19937& random)
      : tokens(token_count),
        cols(col_count),
        x(static_cast<size_t>(token_count * col_count)),
        a8(token_count * a8_row_bytes(col_count)) {
    std::normal_distribution<float> normal(0, magnitude);
    for (float& value : x) value = normal(random);
    quantize();
  }
  void quantize() {
    const Table& scalar = *choose_table("scalar").value();
    for (int64_t t = 0; t < tokens; ++t) {
      scalar.quantize_a8(x.data() + t * cols, cols, a8.data() + t * a8_row_bytes(cols));
    }
  }
  const A8Group* groups(int64_t t) const {
    return reinterpret_cast<const A8Group*>(a8.data() + t * a8_row_bytes(cols));
  }
  // What token t's quantised row stands for.
  double value(int64_t t, int64_t c) const {
    const A8Group& group = groups(t)[c / 32];
    return static_cast<double>(group.q[c % 32]) * group.scale;
  }
};

enum class Kind { kA8, kF32 };

// [tokens, rows] with a stride, and a guard after every row that must stay untouched.
constexpr float kGuard = 12345.0F;
constexpr int64_t kGuardFloats = 3;

std::vector<float> run(const Table& table, Kind kind, const TestMatrix& w, const Activations& x) {
  const int64_t stride = w.rows + kGuardFloats;
  std::vector<float> out(static_cast<size_t>(x.tokens * stride), kGuard);
  MatmulTile tile = {
      .format = w.format,
      .w = w.packed.data(),
      .fine = w.fine.data(),
      .row_blocks = (w.rows + 15) / 16,
      .rows = w.rows,
      .cols = w.cols,
      .x = kind == Kind::kA8 ? x.a8.data() : reinterpret_cast<const std::byte*>(x.x.data()),
      .x_row_bytes = kind == Kind::kA8 ? a8_row_bytes(w.cols) : w.cols * 4,
      .tokens = x.tokens,
      .out = out.data(),
      .out_stride = stride};
  (kind == Kind::kA8 ? table.matmul_a8 : table.matmul_f32)(tile);
  return out;
}

bool same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

void expect_same(const Table& table, Kind kind, const TestMatrix& w, const Activations& x) {
  const std::vector<float> expected = run(*choose_table("scalar").value(), kind, w, x);
  const std::vector<float> actual = run(table, kind, w, x);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(same(expected[i], actual[i]))
        << table.name << (kind == Kind::kA8 ? " a8 " : " f32 ") << format_info(w.format)->name
        << " [" << w.rows << " x " << w.cols << "], " << x.tokens << " tokens, output " << i << ": "
        << actual[i] << ", expected " << expected[i];
  }
}

int64_t column_unit(Format format) {
  return format_info(format)->group == 256 ? 256 : 32;
}

// ---- the definition, from outside
// ----------------------------------------------------------------------------

TEST(MatmulDefinition, A8EqualsDequantisedWeightsTimesDequantisedActivations) {
  std::mt19937 random(11);
  for (Format format : kFormatsWithPlanes) {
    const TestMatrix w(format, 19, 512, random);
    const Activations x(3, 512, 2.0F, random);
    const std::vector<float> out = run(*choose_table("scalar").value(), Kind::kA8, w, x);
    std::vector<float> row(512);
    for (int64_t r = 0; r < w.rows; ++r) {
      dequantize_row(file_format(format), w.raw[static_cast<size_t>(r)].data(), 512, row.data());
      for (int64_t t = 0; t < x.tokens; ++t) {
        double sum = 0, size = 0;
        for (int64_t c = 0; c < 512; ++c) {
          sum += row[static_cast<size_t>(c)] * x.value(t, c);
          size += std::fabs(row[static_cast<size_t>(c)] * x.value(t, c));
        }
        // Relative to the sum of magnitudes: what rounding can reach when terms cancel.
        EXPECT_NEAR(out[static_cast<size_t>(t * (w.rows + kGuardFloats) + r)], sum, 1e-5 * size)
            << format_info(format)->name;
      }
    }
  }
}

TEST(MatmulDefinition, F32EqualsTheSumInDoublePrecision) {
  std::mt19937 random(12);
  for (Format format : kAllFormats) {
    const TestMatrix w(format, 17, 512, random);
    const Activations x(2, 512, 2.0F, random);
    const std::vector<float> out = run(*choose_table("scalar").value(), Kind::kF32, w, x);
    std::vector<float> row(512);
    for (int64_t r = 0; r < w.rows; ++r) {
      dequantize_row(file_format(format), w.raw[static_cast<size_t>(r)].data(), 512, row.data());
      for (int64_t t = 0; t < x.tokens; ++t) {
        double sum = 0, size = 0;
        for (int64_t c = 0; c < 512; ++c) {
          const double term = static_cast<double>(row[static_cast<size_t>(c)]) *
                              x.x[static_cast<size_t>(t * 512 + c)];
          sum += term;
          size += std::fabs(term);
        }
        EXPECT_NEAR(out[static_cast<size_t>(t * (w.rows + kGuardFloats) + r)], sum, 1e-5 * size)
            << format_info(format)->name;
      }
    }
  }
}

TEST(MatmulDefinition, QuantisedActivationsAreWithinHalfAStep) {
  std::mt19937 random(13);
  Activations x(4, 160, 3.0F, random);
  for (int64_t t = 0; t < x.tokens; ++t) {
    for (int64_t g = 0; g < 5; ++g) {
      float amax = 0;
      for (int64_t c = 0; c < 32; ++c)
        amax = std::max(amax, std::fabs(x.x[static_cast<size_t>(t * 160 + 32 * g + c)]));
      for (int64_t c = 32 * g; c < 32 * g + 32; ++c) {
        EXPECT_NEAR(x.value(t, c), x.x[static_cast<size_t>(t * 160 + c)], 0.5001 * amax / 127);
      }
    }
  }
}

TEST(MatmulDefinition, QuantisedSumsAreThoseOfTheCodes) {
  std::mt19937 random(14);
  const Activations x(1, 96, 1.0F, random);
  for (int64_t h = 0; h < 6; ++h) {
    int expected = 0;
    const A8Group& group = x.groups(0)[h / 2];
    for (int64_t i = 0; i < 16; ++i) expected += group.q[16 * (h % 2) + i];
    EXPECT_EQ(group.sum[h % 2], expected);
    EXPECT_EQ(group.total[1 + h % 2], -128 * expected);
    EXPECT_EQ(group.total[0], group.total[1] + group.total[2]);
  }
}

// ---- the table
// -----------------------------------------------------------------------------------------------

std::vector<std::string> variants() {
  std::vector<std::string> names;
  std::istringstream joined{std::string(variant_names())};
  for (std::string name; std::getline(joined, name, ',');) names.push_back(name);
  return names;
}

TEST(Variants, ScalarIsAlwaysTheLastAndTheBestIsTheFirst) {
  EXPECT_EQ(variants().back(), "scalar");
  EXPECT_EQ(choose_table("").value()->name, variants().front());
}

TEST(Variants, AnUnknownOrMissingOneIsAnErrorThatNamesThoseThatWouldDo) {
  for (const char* name : {"avx1024", "AVX2", "scalar ", "neon"}) {
    const auto table = choose_table(name);
    ASSERT_FALSE(table.ok()) << name;
    EXPECT_EQ(table.error().code, base::ErrorCode::kInvalidArgument);
    EXPECT_EQ(table.error().where, "PAWL_ISA");
    EXPECT_NE(table.error().message.find(name), std::string::npos);
    EXPECT_NE(table.error().message.find(std::string(variant_names())), std::string::npos);
  }
}

class MatmulVariant : public testing::TestWithParam<std::string> {
 protected:
  const Table& table() const { return *choose_table(GetParam()).value(); }
};

TEST_P(MatmulVariant, TheForcedVariantIsTheOneThatRuns) {
  EXPECT_EQ(table().name, GetParam());
  for (const std::string& other : variants()) {
    if (other == GetParam()) continue;
    EXPECT_NE(table().matmul_a8, choose_table(other).value()->matmul_a8) << other;
    EXPECT_NE(table().matmul_f32, choose_table(other).value()->matmul_f32) << other;
    EXPECT_NE(table().quantize_a8, choose_table(other).value()->quantize_a8) << other;
  }
}

TEST_P(MatmulVariant, EveryFormatOverManyShapes) {
  std::mt19937 random(21);
  for (Format format : kAllFormats) {
    for (int64_t units : {1, 2, 3, 5, 8}) {
      for (int64_t rows : {1, 7, 16, 17, 40, 70}) {
        const TestMatrix w(format, rows, units * column_unit(format), random);
        const Activations x(1 + static_cast<int64_t>(random() % 4), w.cols, 1.0F, random);
        if (has_planes(format)) expect_same(table(), Kind::kA8, w, x);
        expect_same(table(), Kind::kF32, w, x);
      }
    }
  }
}

TEST_P(MatmulVariant, EveryNumberOfTokens) {
  std::mt19937 random(22);
  for (Format format : kAllFormats) {
    const TestMatrix w(format, 35, 2 * column_unit(format) + (column_unit(format) == 32 ? 32 : 0),
                       random);
    for (int64_t tokens = 1; tokens <= 35; ++tokens) {
      const Activations x(tokens, w.cols, 1.0F, random);
      if (has_planes(format)) expect_same(table(), Kind::kA8, w, x);
      if (tokens <= 19) expect_same(table(), Kind::kF32, w, x);
    }
  }
}

TEST_P(MatmulVariant, LongRows) {
  std::mt19937 random(23);
  for (Format format : kFormatsWithPlanes) {
    const TestMatrix w(format, 16, 4096, random);
    const Activations x(17, 4096, 1.0F, random);
    expect_same(table(), Kind::kA8, w, x);
  }
}

// Codes at their ends against activations of +-127: the largest sums an integer lane has to hold.
TEST_P(MatmulVariant, SaturatedCodesAndActivations) {
  std::mt19937 random(24);
  for (Format format : kFormatsWithPlanes) {
    for (Codes codes : {Codes::kLowest, Codes::kHighest, Codes::kRandom}) {
      const TestMatrix w(format, 33, 256, random, 1.0F, codes);
      Activations x(18, 256, 1.0F, random);
      for (int64_t t = 0; t < x.tokens; ++t) {
        for (int64_t c = 0; c < 256; ++c) {
          const bool is_negative = t == 0 ? false : (t == 1 ? true : random() % 2 == 0);
          x.x[static_cast<size_t>(t * 256 + c)] = is_negative ? -1.0F : 1.0F;
        }
      }
      x.quantize();
      expect_same(table(), Kind::kA8, w, x);
    }
  }
}

TEST_P(MatmulVariant, ExtremeScalesAndZeros) {
  std::mt19937 random(25);
  for (Format format : kAllFormats) {
    for (float weight : {0.0F, 6e-8F, 65000.0F}) {
      for (float activation : {0.0F, 1e-38F, 1e-30F, 1e30F}) {
        const TestMatrix w(format, 20, 256, random, weight);
        const Activations x(9, 256, activation, random);
        if (has_planes(format)) expect_same(table(), Kind::kA8, w, x);
        expect_same(table(), Kind::kF32, w, x);
      }
    }
  }
}

TEST_P(MatmulVariant, ActivationsThatAreNotFiniteStayInTheirToken) {
  std::mt19937 random(26);
  const TestMatrix w(Format::kQ4_0, 16, 96, random);
  Activations x(3, 96, 1.0F, random);
  x.x[96 + 40] = std::numeric_limits<float>::quiet_NaN();
  x.quantize();
  expect_same(table(), Kind::kA8, w, x);
  const std::vector<float> out = run(table(), Kind::kA8, w, x);
  for (int64_t r = 0; r < 16; ++r) {
    EXPECT_TRUE(std::isfinite(out[static_cast<size_t>(r)]));
    EXPECT_TRUE(std::isnan(out[static_cast<size_t>(16 + kGuardFloats + r)]));
  }
}

TEST_P(MatmulVariant, QuantisesToTheSameBytes) {
  std::mt19937 random(27);
  const Table& scalar = *choose_table("scalar").value();
  for (int64_t n : {32, 64, 96, 640, 1536}) {
    for (float magnitude : {0.0F, 1e-40F, 1e-31F, 2e-30F, 1.0F, 1e30F, 1e37F}) {
      for (float special :
           {0.0F, -0.0F, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
        std::vector<float> x(static_cast<size_t>(n));
        std::normal_distribution<float> normal(0, magnitude);
        for (float& value : x) value = normal(random);
        x[static_cast<size_t>(random() % static_cast<uint64_t>(n))] = special;
        AlignedBytes expected(a8_row_bytes(n)), actual(a8_row_bytes(n));
        scalar.quantize_a8(x.data(), n, expected.data());
        // In two parts, as threads do.
        const int64_t part = n / 64 * 32;
        table().quantize_a8(x.data() + part, n - part, actual.data() + a8_row_bytes(part));
        table().quantize_a8(x.data(), part, actual.data());
        ASSERT_EQ(std::memcmp(expected.data(), actual.data(), static_cast<size_t>(a8_row_bytes(n))),
                  0)
            << n << " of " << magnitude << " with " << special;
      }
    }
  }
}

TEST_P(MatmulVariant, TiesQuantiseToEven) {
  std::vector<float> x(32, 0.0F);
  x[0] = 127.0F;
  x[1] = 2.5F, x[2] = 3.5F, x[3] = -0.5F, x[4] = -1.5F, x[5] = -127.0F;
  AlignedBytes row(a8_row_bytes(32));
  table().quantize_a8(x.data(), 32, row.data());
  const int expected[] = {127, 2, 4, 0, -2, -127};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(static_cast<int8_t>(row.data()[i]), expected[i]);
}

// A token alone, and rows from the middle, give the bits that they give inside a large tile.
TEST_P(MatmulVariant, AnOutputDoesNotDependOnItsNeighbours) {
  std::mt19937 random(28);
  for (Format format : kAllFormats) {
    const TestMatrix w(format, 50, 256, random);
    const Activations x(19, 256, 1.0F, random);
    for (Kind kind : {Kind::kA8, Kind::kF32}) {
      if (kind == Kind::kA8 && !has_planes(format)) continue;
      const std::vector<float> all = run(table(), kind, w, x);
      for (int64_t t : {0, 7, 18}) {
        float out[18];
        const int64_t row_bytes = kind == Kind::kA8 ? a8_row_bytes(256) : 1024;
        const std::byte* rows =
            kind == Kind::kA8 ? x.a8.data() : reinterpret_cast<const std::byte*>(x.x.data());
        const MatmulTile tile = {.format = format,
                                 .w = w.packed.data() + 2 * packed_block_bytes(format, 256),
                                 .fine = w.fine.data() + 2 * fine_block_bytes(format, 256),
                                 .row_blocks = 2,
                                 .rows = 18,
                                 .cols = 256,
                                 .x = rows + t * row_bytes,
                                 .x_row_bytes = row_bytes,
                                 .tokens = 1,
                                 .out = out,
                                 .out_stride = 18};
        (kind == Kind::kA8 ? table().matmul_a8 : table().matmul_f32)(tile);
        for (int64_t r = 0; r < 18; ++r) {
          ASSERT_TRUE(same(out[r], all[static_cast<size_t>(t * (50 + kGuardFloats) + 32 + r)]))
              << format_info(format)->name << " token " << t << " row " << 32 + r;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, MatmulVariant, testing::ValuesIn(variants()),
                         [](const auto& variant) { return variant.param; });

}  // namespace
}  // namespace pawl::kernels
