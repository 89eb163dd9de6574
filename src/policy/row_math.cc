// SPDX-License-Identifier: Apache-2.0
// Four floats at a time through the compilers' portable vector type: the same lanes and the same
// order of summation on every machine, with no instruction-set flag.
#include "policy/row_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace pawl::policy {
namespace {

using Float4 = float __attribute__((vector_size(16)));
using Int4 = int32_t __attribute__((vector_size(16)));
using Double2 = double __attribute__((vector_size(16)));
using Long2 = int64_t __attribute__((vector_size(16)));

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kLog2e = 1.4426950408889634074;
constexpr double kLn2 = 0.69314718055994530942;
constexpr size_t kStride = 16;  // four accumulators of four lanes

Float4 load(const float* x) {
  Float4 v;
  std::memcpy(&v, x, sizeof v);
  return v;
}

Float4 splat(float x) {
  return Float4{x, x, x, x};
}

// a where the mask is set, else b.
Float4 select(Int4 mask, Float4 a, Float4 b) {
  return std::bit_cast<Float4>((std::bit_cast<Int4>(a) & mask) | (std::bit_cast<Int4>(b) & ~mask));
}

// The larger, lane by lane; a lane of x that is not a number loses.
Float4 larger(Float4 x, Float4 best) {
  return x > best ? x : best;  // a selection by hand would be four instructions
}

bool any(Int4 mask) {
  const Long2 halves = std::bit_cast<Long2>(mask);
  return (halves[0] | halves[1]) != 0;
}

float largest_lane(Float4 v) {
  return std::max(std::max(v[0], v[1]), std::max(v[2], v[3]));
}

float largest_of(const float* x, size_t count) {
  Float4 best[4] = {splat(-kInfinity), splat(-kInfinity), splat(-kInfinity), splat(-kInfinity)};
  size_t i = 0;
  for (; i + kStride <= count; i += kStride) {
    for (int lane = 0; lane < 4; ++lane) best[lane] = larger(load(x + i + 4 * lane), best[lane]);
  }
  float result = largest_lane(larger(larger(best[0], best[1]), larger(best[2], best[3])));
  for (; i < count; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

// e^x for x <= 0; 0 below -87 and for what is not a number. x = n ln2 + r, |r| <= ln2 / 2; e^r by
// its Taylor series to r^6 (relative error below 2e-7), 2^n through the exponent bits.
inline Float4 weight(Float4 x) {
  const Int4 in_range = x >= splat(-87.0f);
  x = select(in_range, x, splat(0.0f));
  const Float4 magic =
      splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  const Float4 shifted = x * splat(static_cast<float>(kLog2e)) + magic;
  const Float4 n = shifted - magic;
  const Float4 r = (x - n * splat(0.693145752f)) - n * splat(1.42860677e-6f);  // ln2 in two parts
  // Written out: a loop over the coefficients stays a loop at -O2.
  Float4 sum = splat(1.0f / 720) * r + splat(1.0f / 120);
  sum = sum * r + splat(1.0f / 24);
  sum = sum * r + splat(1.0f / 6);
  sum = sum * r + splat(0.5f);
  sum = sum * r + splat(1.0f);
  sum = sum * r + splat(1.0f);
  const Int4 power = std::bit_cast<Int4>(shifted) << 23;
  const Float4 scaled = std::bit_cast<Float4>(std::bit_cast<Int4>(sum) + power);
  return select(in_range, scaled, splat(0.0f));
}

double sum_of_lanes(Float4 v) {
  return (static_cast<double>(v[0]) + v[1]) + (static_cast<double>(v[2]) + v[3]);
}

double block_weight(const float* x, Float4 largest) {
  Float4 sums[4] = {};
  for (size_t i = 0; i < kBlock; i += kStride) {
    for (int lane = 0; lane < 4; ++lane) sums[lane] += weight(load(x + i + 4 * lane) - largest);
  }
  return sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// e^x for x in [-708, 709], by the same steps with the series to r^13.
Double2 exp2_lanes(Double2 x) {
  const Double2 magic = Double2{} + 6755399441055744.0;  // 1.5 * 2^52
  const Double2 shifted = x * kLog2e + magic;
  const Double2 n = shifted - magic;
  const Double2 r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  Double2 sum = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0;
  sum = sum * r + 1.0 / 39916800.0;
  sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0;
  sum = sum * r + 1.0 / 40320.0;
  sum = sum * r + 1.0 / 5040.0;
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0;
  sum = sum * r + 1.0 / 24.0;
  sum = sum * r + 1.0 / 6.0;
  sum = sum * r + 1.0 / 2.0;
  sum = sum * r + 1.0;
  sum = sum * r + 1.0;
  return std::bit_cast<Double2>(std::bit_cast<Long2>(sum) + (std::bit_cast<Long2>(shifted) << 52));
}

// Sum of e^(x - largest) over eight items, in double.
double sum_of_eight(const float* x, double largest) {
  double total = 0;
  for (int i = 0; i < 8; i += 2) {
    Double2 d = {x[i] - largest, x[i + 1] - largest};
    const Long2 in_range = d >= -708.0;
    d = std::bit_cast<Double2>(std::bit_cast<Long2>(d) & in_range);
    const Double2 e = std::bit_cast<Double2>(std::bit_cast<Long2>(exp2_lanes(d)) & in_range);
    total += e[0] + e[1];
  }
  return total;
}

}  // namespace

double exact_exp(double x) {
  if (x < -708) return 0;
  if (x > 709) return std::numeric_limits<double>::infinity();
  return exp2_lanes(Double2{x, 0})[0];
}

double exact_log(double x) {
  PAWL_CHECK(x > 0 && x < std::numeric_limits<double>::infinity());
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // x = m 2^exponent, m in [1/2, 1)
  if (m < 0.70710678118654752440) {
    m *= 2;
    --exponent;
  }
  // ln m = 2 (s + s^3/3 + s^5/5 + …), s = (m - 1) / (m + 1), |s| < 0.172
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return 2 * s * sum + exponent * kLn2;
}

double exact_pow(double x, double y) {
  return x > 0 ? exact_exp(y * exact_log(x)) : 0;
}

Largest find_largest(std::span<const float> x) {
  Largest best{-kInfinity, x.size()};
  for (size_t begin = 0; begin < x.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, x.size() - begin);
    const float value = largest_of(x.data() + begin, count);
    if (value > best.value) best = {value, begin};
  }
  if (best.index == x.size()) return best;
  while (x[best.index] != best.value) ++best.index;
  return best;
}

size_t largest_of_blocks(std::span<const float> x, float* largest) {
  size_t blocks = 0;
  for (size_t begin = 0; begin < x.size(); begin += kBlock) {
    largest[blocks++] = largest_of(x.data() + begin, std::min(kBlock, x.size() - begin));
  }
  return blocks;
}

void largest_of_blocks(std::span<const float> x, std::vector<float>& largest) {
  largest.resize((x.size() + kBlock - 1) / kBlock);
  largest_of_blocks(x, largest.data());
}

double sum_of_weights(std::span<const float> x, float largest) {
  const Float4 top = splat(largest);
  double total = 0;
  size_t begin = 0;
  for (; begin + kBlock <= x.size(); begin += kBlock) total += block_weight(x.data() + begin, top);
  float rest[kBlock];
  std::fill(std::copy(x.begin() + static_cast<ptrdiff_t>(begin), x.end(), rest), rest + kBlock,
            -kInfinity);
  return total + block_weight(rest, top);
}

void weights_of_block(std::span<const float> x, float largest, float* weights) {
  PAWL_CHECK(x.size() <= kBlock);
  const Float4 top = splat(largest);
  size_t i = 0;
  for (; i + 4 <= x.size(); i += 4) {
    const Float4 w = weight(load(x.data() + i) - top);
    std::memcpy(weights + i, &w, sizeof w);
  }
  if (i == x.size()) return;
  float rest[4] = {-kInfinity, -kInfinity, -kInfinity, -kInfinity};
  std::copy(x.begin() + static_cast<ptrdiff_t>(i), x.end(), rest);
  const Float4 w = weight(load(rest) - top);
  std::memcpy(weights + i, &w, (x.size() - i) * sizeof(float));
}

double log_sum_exp(std::span<const float> x) {
  const Largest top = find_largest(x);
  if (top.index == x.size() || top.value == kInfinity) return top.value;
  // What lies this far below the largest weighs so little that the error of a float weight does not
  // show.
  constexpr float kFar = 20;
  double total = 0;
  for (size_t begin = 0; begin < x.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, x.size() - begin);
    float block[kBlock];
    std::fill(std::copy_n(x.data() + begin, count, block), block + kBlock, -kInfinity);
    if (largest_of(block, kBlock) < top.value - kFar) {
      total += block_weight(block, splat(top.value));
    } else {
      for (size_t i = 0; i < kBlock; i += 8) total += sum_of_eight(block + i, top.value);
    }
  }
  return top.value + exact_log(total);
}

void append_at_least(std::span<const float> x, float threshold, std::vector<int32_t>& indices) {
  const Float4 border = splat(threshold);
  size_t i = 0;
  for (; i + kStride <= x.size(); i += kStride) {
    const float* p = x.data() + i;
    const Int4 hits = (load(p) >= border) | (load(p + 4) >= border) | (load(p + 8) >= border) |
                      (load(p + 12) >= border);
    if (!any(hits)) continue;
    for (size_t k = i; k < i + kStride; ++k) {
      if (x[k] >= threshold) indices.push_back(static_cast<int32_t>(k));
    }
  }
  for (; i < x.size(); ++i) {
    if (x[i] >= threshold) indices.push_back(static_cast<int32_t>(i));
  }
}

void select_largest(std::span<const float> x, size_t k, std::vector<int32_t>& indices) {
  PAWL_CHECK(k >= 1);
  const auto before = [&x](int32_t a, int32_t b) { return x[a] != x[b] ? x[a] > x[b] : a < b; };
  const auto cut = [&] {
    std::nth_element(indices.begin(), indices.begin() + static_cast<ptrdiff_t>(k) - 1,
                     indices.end(), before);
    indices.resize(k);
    return x[indices[k - 1]];
  };
  indices.clear();
  // A later item enters only if it beats the k-th largest so far: an equal one comes after it.
  float threshold = -kInfinity;
  const size_t limit = 2 * std::min(k, x.size()) + kBlock;
  for (size_t begin = 0; begin < x.size(); begin += kStride) {
    const size_t end = std::min(begin + kStride, x.size());
    if (end == begin + kStride) {
      const float* p = x.data() + begin;
      const Float4 border = splat(threshold);
      if (!any((load(p) > border) | (load(p + 4) > border) | (load(p + 8) > border) |
               (load(p + 12) > border))) {
        continue;
      }
    }
    for (size_t i = begin; i < end; ++i) {
      if (x[i] > threshold) indices.push_back(static_cast<int32_t>(i));
    }
    if (indices.size() >= limit) threshold = cut();
  }
  if (indices.size() > k) cut();
  std::sort(indices.begin(), indices.end());
}

}  // namespace pawl::policy
