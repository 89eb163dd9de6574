// SPDX-License-Identifier: Apache-2.0
// What layers with a state compute: the scalar entries against the formulas in double precision,
// and every variant against the scalar one, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/vector_variants.h"

namespace pawl::kernels {
namespace {

using Floats = std::vector<float>;

Floats numbers(size_t n, unsigned seed, float low = -2.0f, float high = 2.0f) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(low, high);
  Floats out(n);
  for (float& x : out) x = draw(random);
  return out;
}

bool same(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// One step's arrays: [states, stride] of which n channels are used.
struct Case {
  Case(int64_t states_, int64_t n_, int64_t stride_)
      : states(states_),
        n(n_),
        stride(stride_),
        state(numbers(static_cast<size_t>(states_ * stride_), 1)),
        rates(numbers(static_cast<size_t>(states_ * stride_), 2, -3.0f, -0.01f)),
        x(numbers(static_cast<size_t>(n_), 3)),
        dt(numbers(static_cast<size_t>(n_), 4, 0.01f, 1.5f)),
        write(numbers(static_cast<size_t>(states_), 5)),
        read(numbers(static_cast<size_t>(states_), 6)),
        out(static_cast<size_t>(n_)) {}

  StateStep step() {
    return {state.data(), states, n, stride, x.data(), write.data(), read.data(), out.data()};
  }
  double at(const Floats& values, int64_t s, int64_t c) const {
    return static_cast<double>(values[static_cast<size_t>(s * stride + c)]);
  }

  int64_t states, n, stride;
  Floats state, rates, x, dt, write, read, out;
};

constexpr float kDecay = 0.83f, kSize = 0.7f, kBeta = 0.4f;

// Runs each of the three, twice, so that the second starts from what the first left.
template <typename Check>
void for_each_step(int64_t n, Check check) {
  check("selective", Case(5, n, n + 3), [](const VectorEntries& v, Case& c) {
    v.selective_step(c.step(), c.rates.data(), c.dt.data());
  });
  check("decay", Case(7, n, n),
        [](const VectorEntries& v, Case& c) { v.decay_step(c.step(), kDecay, kSize); });
  check("delta", Case(6, n, n + 1),
        [](const VectorEntries& v, Case& c) { v.delta_step(c.step(), kDecay, kBeta); });
}

TEST(Recurrent, EveryVariantOfAStepGivesTheBitsOfTheScalarOne) {
  for (const int64_t n : {1, 15, 16, 17, 64, 80}) {
    for_each_step(n, [](const char* name, const Case& start, auto run) {
      Case expected = start;
      run(kScalarVector, expected);
      run(kScalarVector, expected);
      for (const VectorVariant& variant : vector_variants()) {
        Case got = start;
        run(*variant.entries, got);
        run(*variant.entries, got);
        EXPECT_TRUE(same(got.out, expected.out)) << name << ", " << variant.name << ", " << start.n;
        EXPECT_TRUE(same(got.state, expected.state)) << name << ", " << variant.name;
      }
    });
  }
}

TEST(Recurrent, ASelectiveStepIsItsFormula) {
  Case c(5, 19, 21);
  const Case start = c;
  kScalarVector.selective_step(c.step(), c.rates.data(), c.dt.data());
  for (int64_t i = 0; i < c.n; ++i) {
    const size_t at = static_cast<size_t>(i);
    const double dt = static_cast<double>(c.dt[at]);
    double out = 0;
    for (int64_t s = 0; s < c.states; ++s) {
      const size_t k = static_cast<size_t>(s);
      const double state =
          start.at(start.state, s, i) * std::exp(dt * start.at(start.rates, s, i)) +
          static_cast<double>(c.write[k]) * static_cast<double>(c.x[at]) * dt;
      EXPECT_NEAR(c.at(c.state, s, i), state, 2e-6);
      out += state * static_cast<double>(c.read[k]);
    }
    EXPECT_NEAR(static_cast<double>(c.out[at]), out, 1e-5);
  }
}

TEST(Recurrent, ADecayStepIsItsFormula) {
  Case c(7, 18, 18);
  const Case start = c;
  kScalarVector.decay_step(c.step(), kDecay, kSize);
  for (int64_t i = 0; i < c.n; ++i) {
    const size_t at = static_cast<size_t>(i);
    double out = 0;
    for (int64_t s = 0; s < c.states; ++s) {
      const size_t k = static_cast<size_t>(s);
      const double state = start.at(start.state, s, i) * static_cast<double>(kDecay) +
                           static_cast<double>(c.write[k]) * static_cast<double>(c.x[at]) *
                               static_cast<double>(kSize);
      EXPECT_NEAR(c.at(c.state, s, i), state, 2e-6);
      out += state * static_cast<double>(c.read[k]);
    }
    EXPECT_NEAR(static_cast<double>(c.out[at]), out, 1e-5);
  }
}

// arXiv 2412.06464, equation 10, for one head: S = S a (I - b k k^T) + b v k^T, then q reads it.
TEST(Recurrent, ADeltaStepIsItsFormula) {
  Case c(6, 18, 20);
  const Case start = c;
  kScalarVector.delta_step(c.step(), kDecay, kBeta);
  const double a = static_cast<double>(kDecay), b = static_cast<double>(kBeta);
  for (int64_t i = 0; i < c.n; ++i) {
    const size_t at = static_cast<size_t>(i);
    double along_key = 0;
    for (int64_t s = 0; s < c.states; ++s)
      along_key +=
          start.at(start.state, s, i) * static_cast<double>(c.write[static_cast<size_t>(s)]);
    double out = 0;
    for (int64_t s = 0; s < c.states; ++s) {
      const double key = static_cast<double>(c.write[static_cast<size_t>(s)]);
      const double state = a * (start.at(start.state, s, i) - b * along_key * key) +
                           b * static_cast<double>(c.x[at]) * key;
      EXPECT_NEAR(c.at(c.state, s, i), state, 4e-6);
      out += state * static_cast<double>(c.read[static_cast<size_t>(s)]);
    }
    EXPECT_NEAR(static_cast<double>(c.out[at]), out, 2e-5);
  }
}

struct Convolved {
  Floats x, window;
};

Convolved convolve(const VectorEntries& entries, int64_t tokens, int64_t channels, int taps,
                   int64_t chunk, const float* bias, const Floats& w) {
  Convolved c{numbers(static_cast<size_t>(tokens * channels), 7),
              numbers(static_cast<size_t>((taps - 1) * channels), 8)};
  for (int64_t t = 0; t < tokens; t += chunk) {
    entries.convolve({.x = c.x.data() + t * channels,
                      .window = c.window.data(),
                      .w = w.data(),
                      .bias = bias,
                      .stride = channels,
                      .tokens = std::min(chunk, tokens - t),
                      .channels = channels,
                      .taps = taps});
  }
  return c;
}

TEST(Recurrent, AConvolutionIsItsSumAndKeepsItsLastInputs) {
  constexpr int64_t kTokens = 9, kChannels = 21;
  for (const int taps : {2, 3, 4}) {
    const Floats w = numbers(static_cast<size_t>(taps) * kChannels, 9),
                 bias = numbers(kChannels, 10);
    const Floats x = numbers(kTokens * kChannels, 7),
                 before = numbers(static_cast<size_t>(taps - 1) * kChannels, 8);
    const Convolved got =
        convolve(kScalarVector, kTokens, kChannels, taps, kTokens, bias.data(), w);
    const auto input = [&](int64_t t, int64_t c) {
      return static_cast<double>(t < 0 ? before[static_cast<size_t>((taps - 1 + t) * kChannels + c)]
                                       : x[static_cast<size_t>(t * kChannels + c)]);
    };
    for (int64_t c = 0; c < kChannels; ++c) {
      for (int64_t t = 0; t < kTokens; ++t) {
        double sum = static_cast<double>(bias[static_cast<size_t>(c)]);
        for (int j = 0; j < taps; ++j)
          sum += static_cast<double>(w[static_cast<size_t>(j * kChannels + c)]) *
                 input(t - (taps - 1) + j, c);
        EXPECT_NEAR(static_cast<double>(got.x[static_cast<size_t>(t * kChannels + c)]), sum, 1e-5);
      }
      for (int j = 0; j + 1 < taps; ++j) {
        EXPECT_EQ(static_cast<double>(got.window[static_cast<size_t>(j * kChannels + c)]),
                  input(kTokens - (taps - 1) + j, c));
      }
    }
  }
}

TEST(Recurrent, AConvolutionGivesTheSameBitsInEveryChunkingAndVariant) {
  const Floats w = numbers(4 * 37, 9);
  const Convolved expected = convolve(kScalarVector, 12, 37, 4, 12, nullptr, w);
  for (const VectorVariant& variant : vector_variants()) {
    for (const int64_t chunk : {1, 5, 12}) {
      const Convolved got = convolve(*variant.entries, 12, 37, 4, chunk, nullptr, w);
      EXPECT_TRUE(same(got.x, expected.x)) << variant.name << ", chunks of " << chunk;
      EXPECT_TRUE(same(got.window, expected.window)) << variant.name << ", chunks of " << chunk;
    }
  }
}

TEST(Recurrent, SoftplusIsWithinFourUlpAndPassesWhatIsNoNumber) {
  Floats x;
  for (float v = -110.0f; v < 110.0f; v += 0.0037f) x.push_back(v);
  Floats got = x;
  kScalarVector.softplus(got.data(), static_cast<int64_t>(got.size()));
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = static_cast<double>(x[i]);
    const double exact = std::max(v, 0.0) + std::log1p(std::exp(-std::fabs(v)));
    const double spacing = static_cast<double>(
        std::nextafter(static_cast<float>(exact), std::numeric_limits<float>::infinity()) -
        static_cast<float>(exact));
    worst = std::max(worst, std::fabs(static_cast<double>(got[i]) - exact) / spacing);
  }
  EXPECT_LE(worst, 4.0);
  for (const VectorVariant& variant : vector_variants()) {
    Floats other = x;
    variant.entries->softplus(other.data(), static_cast<int64_t>(other.size()));
    EXPECT_TRUE(same(other, got)) << variant.name;
    Floats odd = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                  -std::numeric_limits<float>::infinity()};
    variant.entries->softplus(odd.data(), 3);
    EXPECT_TRUE(std::isnan(odd[0]));
    EXPECT_EQ(odd[1], std::numeric_limits<float>::infinity());
    EXPECT_EQ(odd[2], 0.0f);
  }
}

}  // namespace
}  // namespace pawl::kernels
