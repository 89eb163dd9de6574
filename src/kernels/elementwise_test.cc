// SPDX-License-Identifier: Apache-2.0
// The scalar entries against double precision, and every variant against the scalar one, bit for
// bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "kernels/scalar_vec.h"
#include "kernels/vector_variants.h"

#include "kernels/elementwise-inl.h"

namespace pawl::kernels {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min();

// Same bits, or both NaN.
bool same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

// |got - exact| in units of the float spacing at `exact`.
double ulps(float got, double exact) {
  const double largest = std::numeric_limits<float>::max();
  if (std::fabs(exact) > largest) return std::isinf(got) ? 0.0 : 1e9;
  int exponent;
  std::frexp(exact, &exponent);
  const double spacing = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::fabs(static_cast<double>(got) - exact) / spacing;
}

// Calls f for floats of every exponent and both signs, NaN and infinity left out.
void for_many_floats(const std::function<void(float)>& f) {
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 2003) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isfinite(x)) f(x);
  }
}

void for_range(float low, float high, int count, const std::function<void(float)>& f) {
  for (int i = 0; i <= count; ++i)
    f(low + (high - low) * static_cast<float>(i) / static_cast<float>(count));
}

float exponential_of(float x) {
  return exponential(broadcast(x)).lane[3];
}
float tanh_of(float x) {
  return hyperbolic_tangent(broadcast(x)).lane[3];
}

// Holds `function` against `exact` at every input; gives the largest distance in ulps.
double worst_ulps(const std::vector<float>& inputs, Vec (*function)(Vec), double (*exact)(double)) {
  double worst = 0;
  for (size_t i = 0; i + kLanes <= inputs.size(); i += kLanes) {
    const Vec got = function(load(inputs.data() + i));
    for (size_t lane = 0; lane < kLanes; ++lane) {
      worst = std::max(worst, ulps(got.lane[lane], exact(static_cast<double>(inputs[i + lane]))));
    }
  }
  return worst;
}

TEST(Elementwise, ExponentialIsWithinTwoUlpOverTheWholeRange) {
  std::vector<float> inputs;
  const auto keep = [&](float x) { inputs.push_back(x); };
  for_many_floats(keep);
  for_range(-104.5f, 89.5f, 1000000, keep);
  for_range(-1.0f, 1.0f, 400000, keep);
  const double worst = worst_ulps(inputs, exponential, [](double x) { return std::exp(x); });
  EXPECT_LE(worst, 2.0);
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST(Elementwise, ExponentialOfSpecialValues) {
  EXPECT_EQ(exponential_of(0.0f), 1.0f);
  EXPECT_EQ(exponential_of(-0.0f), 1.0f);
  EXPECT_TRUE(same(exponential_of(-kInfinity), 0.0f));
  EXPECT_TRUE(same(exponential_of(-1e30f), 0.0f));
  EXPECT_EQ(exponential_of(kInfinity), kInfinity);
  EXPECT_EQ(exponential_of(88.73f), kInfinity);
  EXPECT_TRUE(std::isnan(exponential_of(kNaN)));
  EXPECT_TRUE(std::isnan(exponential_of(-kNaN)));
  EXPECT_EQ(exponential_of(-103.5f), kDenormal) << "subnormal results are not flushed";
}

TEST(Elementwise, TangentIsWithinFourUlp) {
  std::vector<float> inputs;
  const auto keep = [&](float x) { inputs.push_back(x); };
  for_many_floats(keep);
  for_range(-10.0f, 10.0f, 1000000, keep);
  const double worst =
      worst_ulps(inputs, hyperbolic_tangent, [](double x) { return std::tanh(x); });
  EXPECT_LE(worst, 4.0);
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST(Elementwise, TangentOfSpecialValues) {
  EXPECT_TRUE(same(tanh_of(-0.0f), -0.0f));
  EXPECT_TRUE(same(tanh_of(kDenormal), kDenormal));
  EXPECT_EQ(tanh_of(kInfinity), 1.0f);
  EXPECT_EQ(tanh_of(-kInfinity), -1.0f);
  EXPECT_TRUE(std::isnan(tanh_of(kNaN)));
}

double exact_activation(Activation kind, double x) {
  switch (kind) {
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kGelu:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activation::kGeluQuick:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::kRelu:
      return x > 0 ? x : 0;
    case Activation::kReluSquared:
      return x > 0 ? x * x : 0;
  }
  return 0;
}

constexpr Activation kActivations[] = {Activation::kSilu, Activation::kGelu, Activation::kGeluQuick,
                                       Activation::kRelu, Activation::kReluSquared};

TEST(Elementwise, ActivationsAndGatesFollowTheirFormulas) {
  for (Activation kind : kActivations) {
    for_range(-30.0f, 30.0f, 60000, [&](float x) {
      const double exact = exact_activation(kind, x);
      float y = x;
      kScalarVector.activate(kind, &y, 1);
      ASSERT_NEAR(y, exact, 3e-7 * std::max(1.0, std::fabs(exact)))
          << static_cast<int>(kind) << " of " << x;
      const float up = 1.25f;
      float z;
      kScalarVector.gate(kind, &x, &up, 1, &z);
      ASSERT_EQ(z, y * up);
    });
  }
}

std::vector<float> normal(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution(0.3f, 2.0f);
  std::vector<float> values(n);
  for (float& v : values) v = distribution(random);
  return values;
}

TEST(Elementwise, NormsFollowTheirFormulas) {
  for (size_t n : {1u, 7u, 16u, 33u, 640u, 4096u}) {
    const std::vector<float> x = normal(n, 1), w = normal(n, 2), b = normal(n, 3);
    const double count = static_cast<double>(n);
    double sum = 0, squares = 0, spread = 0;
    for (float v : x) sum += v;
    for (float v : x) squares += static_cast<double>(v) * v;
    for (float v : x) spread += (v - sum / count) * (v - sum / count);
    const double rms = 1 / std::sqrt(squares / count + 1e-5);
    const double deviation = 1 / std::sqrt(spread / count + 1e-5);
    std::vector<float> out(n), bare(n);
    kScalarVector.rms_norm(x.data(), w.data(), 1e-5f, static_cast<int64_t>(n), out.data());
    kScalarVector.rms_norm(x.data(), nullptr, 1e-5f, static_cast<int64_t>(n), bare.data());
    for (size_t i = 0; i < n; ++i) {
      ASSERT_NEAR(out[i], x[i] * rms * w[i], 2e-5);
      ASSERT_NEAR(bare[i], x[i] * rms, 2e-5);
    }
    kScalarVector.layer_norm(x.data(), w.data(), b.data(), 1e-5f, static_cast<int64_t>(n),
                             out.data());
    kScalarVector.layer_norm(x.data(), nullptr, nullptr, 1e-5f, static_cast<int64_t>(n),
                             bare.data());
    for (size_t i = 0; i < n; ++i) {
      const double plain = (x[i] - sum / count) * deviation;
      ASSERT_NEAR(out[i], plain * w[i] + b[i], 2e-5);
      ASSERT_NEAR(bare[i], plain, 2e-5);
    }
  }
}

TEST(Elementwise, SoftmaxSumsToOneAndFollowsItsFormula) {
  for (size_t n : {1u, 5u, 16u, 17u, 1000u}) {
    const std::vector<float> x = normal(n, 4);
    double most = -1e30, sum = 0;
    for (float v : x) most = std::max(most, static_cast<double>(v));
    for (float v : x) sum += std::exp(v - most);
    std::vector<float> y = x;
    kScalarVector.softmax(y.data(), static_cast<int64_t>(n));
    for (size_t i = 0; i < n; ++i) ASSERT_NEAR(y[i], std::exp(x[i] - most) / sum, 1e-6);
    const float total =
        kScalarVector.exp_sum(x.data(), static_cast<float>(most), static_cast<int64_t>(n));
    ASSERT_NEAR(total, sum, 1e-5 * sum);
  }
}

TEST(Elementwise, ClampAndSoftCapKeepWithinTheirLimits) {
  std::vector<float> x = {-100, -1.5f, 0, 1.5f, 100, kInfinity, -kInfinity, kNaN};
  std::vector<float> y = x;
  kScalarVector.clamp(x.data(), 2.0f, 8);
  const float expected[] = {-2, -1.5f, 0, 1.5f, 2, 2, -2};
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(x[i], expected[i]);
  EXPECT_TRUE(std::isnan(x[7]));
  kScalarVector.soft_cap(y.data(), 30.0f, 8);
  EXPECT_NEAR(y[0], 30 * std::tanh(-100.0 / 30), 1e-5);
  EXPECT_NEAR(y[3], 30 * std::tanh(1.5 / 30), 1e-6);
  EXPECT_EQ(y[5], 30.0f);
}

TEST(Elementwise, RopeTurnsPairsOfEitherLayoutAndLeavesTheRest) {
  for (int64_t rotary : {2, 6, 32, 34, 64}) {
    const int64_t heads = 3, stride = 70, half = rotary / 2;
    const std::vector<float> x = normal(static_cast<size_t>(heads * stride), 5);
    std::vector<float> cosine, sine;
    for (int64_t i = 0; i < half; ++i) {
      cosine.push_back(std::cos(0.3f * static_cast<float>(i + 1)));
      sine.push_back(std::sin(0.3f * static_cast<float>(i + 1)));
    }
    for (RopeLayout layout : {RopeLayout::kHalves, RopeLayout::kPairs}) {
      std::vector<float> y = x;
      kScalarVector.rope(y.data(), heads, stride, rotary, layout, cosine.data(), sine.data());
      std::vector<double> expected(x.begin(), x.end());
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t i = 0; i < half; ++i) {
          const bool halves = layout == RopeLayout::kHalves;
          const auto first = static_cast<size_t>(h * stride + (halves ? i : 2 * i));
          const auto second = static_cast<size_t>(h * stride + (halves ? i + half : 2 * i + 1));
          const double c = cosine[static_cast<size_t>(i)], s = sine[static_cast<size_t>(i)];
          expected[first] = x[first] * c - x[second] * s;
          expected[second] = x[first] * s + x[second] * c;
        }
      }
      for (size_t i = 0; i < y.size(); ++i)
        ASSERT_NEAR(y[i], expected[i], 2e-6) << rotary << " at " << i;
    }
  }
}

// ---- every variant against the scalar one

// Values of every kind in an order of chance.
std::vector<float> awkward(size_t n, uint32_t seed) {
  const float special[] = {0.0f,      -0.0f,      kDenormal, -kDenormal, 1e-39f,
                           kInfinity, -kInfinity, kNaN,      3.4e38f,    -3.4e38f,
                           88.7f,     -103.9f,    0.625f,    1e-20f,     65504.0f};
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution(0.0f, 8.0f);
  std::vector<float> values(n);
  for (float& v : values) {
    const uint32_t kind = random() % 8;
    v = kind == 0   ? special[random() % std::size(special)]
        : kind == 1 ? std::bit_cast<float>(static_cast<uint32_t>(random()))
                    : distribution(random);
  }
  return values;
}

// Two arrays in, the first also out.
using Step = std::function<void(const VectorEntries&, float* x, float* y, int64_t n)>;

// Runs `step` with all lengths 1..67 at unaligned addresses in every variant.
void expect_same_in_all_variants(const char* what, const Step& step, bool tame) {
  const std::vector<VectorVariant> variants = vector_variants();
  for (int64_t n = 1; n <= 67; ++n) {
    const auto offset = static_cast<size_t>(n % 5);
    const auto seed = static_cast<uint32_t>(n);
    const std::vector<float> x = tame ? normal(200, seed) : awkward(200, seed);
    const std::vector<float> y = tame ? normal(200, seed + 100) : awkward(200, seed + 100);
    std::vector<float> expected = x, expected_y = y;
    step(*variants[0].entries, expected.data() + offset, expected_y.data() + offset, n);
    for (const VectorVariant& variant : variants) {
      std::vector<float> got = x, got_y = y;
      step(*variant.entries, got.data() + offset, got_y.data() + offset, n);
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_TRUE(same(got[i], expected[i]))
            << what << ", " << variant.name << ", n = " << n << ", at " << i << ": " << got[i]
            << ", expected " << expected[i] << " of " << x[i];
        ASSERT_TRUE(same(got_y[i], expected_y[i])) << what << " wrote to its second argument";
        if (i < offset || i >= offset + static_cast<size_t>(n)) {
          ASSERT_TRUE(same(got[i], x[i]))
              << what << ", " << variant.name << ", n = " << n << " wrote outside";
        }
      }
    }
  }
}

void expect_same(const char* what, const Step& step) {
  expect_same_in_all_variants(what, step, true);
  expect_same_in_all_variants(what, step, false);
}

TEST(Elementwise, VariantsGiveTheSameBits) {
  using E = const VectorEntries&;
  expect_same("rms_norm",
              [](E e, float* x, float* y, int64_t n) { e.rms_norm(x, y, 1e-6f, n, x); });
  expect_same("rms_norm bare",
              [](E e, float* x, float*, int64_t n) { e.rms_norm(x, nullptr, 1e-6f, n, x); });
  expect_same("layer_norm",
              [](E e, float* x, float* y, int64_t n) { e.layer_norm(x, y, y, 1e-6f, n, x); });
  expect_same("add", [](E e, float* x, float* y, int64_t n) { e.add(x, y, n); });
  expect_same("add_scaled",
              [](E e, float* x, float* y, int64_t n) { e.add_scaled(x, y, 0.7f, n); });
  expect_same("multiply", [](E e, float* x, float* y, int64_t n) { e.multiply(x, y, n); });
  expect_same("scale", [](E e, float* x, float*, int64_t n) { e.scale(x, -1.7f, n); });
  expect_same("clamp", [](E e, float* x, float*, int64_t n) { e.clamp(x, 3.0f, n); });
  expect_same("soft_cap", [](E e, float* x, float*, int64_t n) { e.soft_cap(x, 30.0f, n); });
  expect_same("softmax", [](E e, float* x, float*, int64_t n) { e.softmax(x, n); });
  expect_same("exp_sum", [](E e, float* x, float*, int64_t n) { x[0] = e.exp_sum(x, 3.0f, n); });
  expect_same("sigmoid", [](E e, float* x, float*, int64_t n) { e.sigmoid(x, n); });
  for (Activation kind : kActivations) {
    expect_same("activate", [kind](E e, float* x, float*, int64_t n) { e.activate(kind, x, n); });
    expect_same("gate", [kind](E e, float* x, float* y, int64_t n) { e.gate(kind, x, y, n, x); });
  }
  for (RopeLayout layout : {RopeLayout::kHalves, RopeLayout::kPairs}) {
    expect_same("rope", [layout](E e, float* x, float* y, int64_t n) {
      if (n >= 2) e.rope(x, 1, n, n / 2 * 2, layout, y, y + 40);
    });
  }
}

TEST(Elementwise, VariantsGiveTheSameExponentialEverywhere) {
  const std::vector<VectorVariant> variants = vector_variants();
  std::vector<float> inputs;
  for_many_floats([&](float x) { inputs.push_back(x); });
  for_range(-104.5f, 89.5f, 100000, [&](float x) { inputs.push_back(x); });
  std::vector<float> expected = inputs;
  const auto n = static_cast<int64_t>(inputs.size());
  for (bool tangent : {false, true}) {
    for (const VectorVariant& variant : variants) {
      std::vector<float> got = inputs;
      tangent ? variant.entries->soft_cap(got.data(), 1.0f, n)
              : variant.entries->sigmoid(got.data(), n);
      if (variant.name == "scalar") expected = got;
      ASSERT_EQ(std::memcmp(got.data(), expected.data(), sizeof(float) * inputs.size()), 0)
          << variant.name;
    }
  }
}

TEST(Elementwise, VariantsGiveTheSameNormsOfLongRows) {
  for (size_t n : {640u, 896u, 1000u, 4096u, 16384u + 5}) {
    const std::vector<float> x = normal(n, 8), w = normal(n, 9);
    std::vector<float> expected(n), got(n);
    kScalarVector.rms_norm(x.data(), w.data(), 1e-6f, static_cast<int64_t>(n), expected.data());
    for (const VectorVariant& variant : vector_variants()) {
      variant.entries->rms_norm(x.data(), w.data(), 1e-6f, static_cast<int64_t>(n), got.data());
      ASSERT_EQ(std::memcmp(got.data(), expected.data(), sizeof(float) * n), 0)
          << variant.name << n;
    }
  }
}

}  // namespace
}  // namespace pawl::kernels
