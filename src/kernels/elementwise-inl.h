// SPDX-License-Identifier: Apache-2.0
// Norms, activations, softmax, RoPE: once, over the Vec of whichever vec.h was included before. No
// call into the C library: what exp and tanh are is written here, and every back end computes the
// same bits. MXCSR (rounding, subnormals) is expected to be the default.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace pawl::kernels {
namespace {

constexpr float kInfinity = __builtin_inff();

// ---- functions of a vector

// e^x, at most 2 ulp off; subnormal results are rounded, not flushed. 0 below -104, infinity
// above 88.73. x = n ln 2 + r, |r| <= ln 2 / 2; e^r = 1 + r + r^2 q(r), q a minimax polynomial of
// degree 4 (3e-9 off).
inline Vec exponential(Vec x) {
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693145751953125f;  // few bits: n times it is exact
  constexpr float kLn2Low = 1.428606765330187e-06f;
  constexpr float kWhole = 12582912.0f;  // 1.5 * 2^23: adding it rounds to whole numbers
  x = min(broadcast(89.0f), max(broadcast(-104.0f), x));  // in this order NaN passes
  const Vec n = sub(fma(x, broadcast(kLog2E), broadcast(kWhole)), broadcast(kWhole));
  const Vec r = fma(n, broadcast(-kLn2Low), fma(n, broadcast(-kLn2High), x));
  Vec q = broadcast(0.001381459878757596f);
  q = fma(q, r, broadcast(0.008368716575205326f));
  q = fma(q, r, broadcast(0.04166838899254799f));
  q = fma(q, r, broadcast(0.1666652113199234f));
  q = fma(q, r, broadcast(0.4999999403953552f));
  return scale_by_power(add(fma(mul(r, r), q, r), broadcast(1.0f)), n);
}

// tanh x, at most 4 ulp off. Below 0.625: x + x^3 t(x^2), t a minimax polynomial; above: 1 - 2 /
// (e^2|x| + 1).
inline Vec hyperbolic_tangent(Vec x) {
  const Vec one = broadcast(1.0f);
  const Vec magnitude = absolute(x);
  const Vec e = exponential(add(magnitude, magnitude));
  const Vec large = sub(one, div(broadcast(2.0f), add(e, one)));
  const Vec square = mul(x, x);
  Vec t = broadcast(-0.005714687053114176f);
  t = fma(t, square, broadcast(0.020648574456572533f));
  t = fma(t, square, broadcast(-0.053742915391922f));
  t = fma(t, square, broadcast(0.133314847946167f));
  t = fma(t, square, broadcast(-0.3333328366279602f));
  const Vec small = fma(mul(square, t), magnitude, magnitude);
  return copy_sign(select_less(magnitude, broadcast(0.625f), small, large), x);
}

// x / (1 + e^-y): x times the logistic function of y
inline Vec times_logistic(Vec x, Vec y) {
  return div(x, add(broadcast(1.0f), exponential(negate(y))));
}

inline Vec logistic(Vec x) {
  return times_logistic(broadcast(1.0f), x);
}

struct Silu {
  static Vec apply(Vec x) { return times_logistic(x, x); }
};
// x / 2 * (1 + tanh u), u = sqrt(2 / pi) (x + 0.044715 x^3), is x times the logistic function of 2
// u.
struct Gelu {
  static Vec apply(Vec x) {
    constexpr float kTwoRootTwoOverPi = 1.5957691216f;
    const Vec inner = fma(mul(x, x), broadcast(0.044715f), broadcast(1.0f));
    return times_logistic(x, mul(mul(broadcast(kTwoRootTwoOverPi), x), inner));
  }
};
struct GeluQuick {
  static Vec apply(Vec x) { return times_logistic(x, mul(broadcast(1.702f), x)); }
};
struct Relu {
  static Vec apply(Vec x) { return max(broadcast(0.0f), x); }
};
struct ReluSquared {
  static Vec apply(Vec x) {
    const Vec positive = Relu::apply(x);
    return mul(positive, positive);
  }
};

// ---- loops over arrays

// out[i] = f(in[i])
template <typename F>
inline void map(const float* in, int64_t n, float* out, F f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, f(load(in + i)));
  const int tail = static_cast<int>(n - i);
  if (tail > 0) store_partial(out + i, tail, f(load_partial(in + i, tail, 0.0f)));
}

// out[i] = f(a[i], b[i])
template <typename F>
inline void zip(const float* a, const float* b, int64_t n, float* out, F f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, f(load(a + i), load(b + i)));
  const int tail = static_cast<int>(n - i);
  if (tail > 0) {
    store_partial(out + i, tail,
                  f(load_partial(a + i, tail, 0.0f), load_partial(b + i, tail, 0.0f)));
  }
}

// The sum of term(x[i], running sum) in 16 lanes, then across. `term` adds to its second argument;
// what it adds in the lanes past a tail is dropped.
template <typename F>
inline float accumulate(const float* x, int64_t n, F term) {
  Vec sum = broadcast(0.0f);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) sum = term(load(x + i), sum);
  const int tail = static_cast<int>(n - i);
  if (tail > 0) {
    const Vec last = term(load_partial(x + i, tail, 0.0f), sum);
    sum = add(keep_lanes(last, 0, tail, 0.0f), keep_lanes(sum, tail, kLanes, 0.0f));
  }
  return reduce_add(sum);
}

inline float reciprocal_deviation(float square_sum, int64_t n, float eps) {
  return 1.0f / square_root(square_sum / static_cast<float>(n) + eps);
}

// ---- the entries of the table

inline void rms_norm(const float* x, const float* weight, float eps, int64_t n, float* out) {
  const float squares = accumulate(x, n, [](Vec v, Vec sum) { return fma(v, v, sum); });
  const Vec factor = broadcast(reciprocal_deviation(squares, n, eps));
  if (weight == nullptr) return map(x, n, out, [&](Vec v) { return mul(v, factor); });
  zip(x, weight, n, out, [&](Vec v, Vec w) { return mul(mul(v, factor), w); });
}

inline void layer_norm(const float* x, const float* weight, const float* bias, float eps, int64_t n,
                       float* out) {
  const float sum = accumulate(x, n, [](Vec v, Vec so_far) { return add(v, so_far); });
  const Vec mean = broadcast(sum / static_cast<float>(n));
  const float squares = accumulate(x, n, [&](Vec v, Vec so_far) {
    const Vec centred = sub(v, mean);
    return fma(centred, centred, so_far);
  });
  const Vec factor = broadcast(reciprocal_deviation(squares, n, eps));
  map(x, n, out, [&](Vec v) { return mul(sub(v, mean), factor); });
  if (weight != nullptr) zip(out, weight, n, out, [](Vec v, Vec w) { return mul(v, w); });
  if (bias != nullptr) zip(out, bias, n, out, [](Vec v, Vec b) { return add(v, b); });
}

inline void add_rows(float* x, const float* y, int64_t n) {
  zip(x, y, n, x, [](Vec a, Vec b) { return add(a, b); });
}

inline void add_scaled(float* x, const float* y, float s, int64_t n) {
  zip(x, y, n, x, [factor = broadcast(s)](Vec a, Vec b) { return fma(b, factor, a); });
}

inline void multiply(float* x, const float* y, int64_t n) {
  zip(x, y, n, x, [](Vec a, Vec b) { return mul(a, b); });
}

inline void scale(float* x, float s, int64_t n) {
  map(x, n, x, [factor = broadcast(s)](Vec v) { return mul(v, factor); });
}

inline void clamp(float* x, float limit, int64_t n) {
  map(x, n, x,
      [high = broadcast(limit), low = broadcast(-limit)](Vec v) { return min(high, max(low, v)); });
}

inline Vec capped(Vec v, Vec cap) {
  return mul(cap, hyperbolic_tangent(div(v, cap)));
}

inline void soft_cap(float* x, float cap, int64_t n) {
  map(x, n, x, [limit = broadcast(cap)](Vec v) { return capped(v, limit); });
}

// Calls f with the type of the activation.
template <typename F>
inline void with_activation(Activation kind, F f) {
  switch (kind) {
    case Activation::kSilu:
      return f(Silu{});
    case Activation::kGelu:
      return f(Gelu{});
    case Activation::kGeluQuick:
      return f(GeluQuick{});
    case Activation::kRelu:
      return f(Relu{});
    case Activation::kReluSquared:
      return f(ReluSquared{});
  }
}

inline void activate(Activation kind, float* x, int64_t n) {
  with_activation(kind, [=](auto activation) {
    map(x, n, x, [](Vec v) { return decltype(activation)::apply(v); });
  });
}

inline void gate(Activation kind, const float* gates, const float* up, int64_t n, float* out) {
  with_activation(kind, [=](auto activation) {
    zip(gates, up, n, out, [](Vec g, Vec u) { return mul(decltype(activation)::apply(g), u); });
  });
}

inline void sigmoid(float* x, int64_t n) {
  map(x, n, x, [](Vec v) { return logistic(v); });
}

inline float largest(const float* x, int64_t n) {
  Vec most = broadcast(-kInfinity);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) most = max(most, load(x + i));
  const int tail = static_cast<int>(n - i);
  if (tail > 0) most = max(most, load_partial(x + i, tail, -kInfinity));
  return reduce_max(most);
}

inline void softmax(float* x, int64_t n) {
  const Vec most = broadcast(largest(x, n));
  map(x, n, x, [&](Vec v) { return exponential(sub(v, most)); });
  const Vec sum = broadcast(accumulate(x, n, [](Vec v, Vec so_far) { return add(v, so_far); }));
  map(x, n, x, [&](Vec v) { return div(v, sum); });
}

inline float exp_sum(const float* x, float largest, int64_t n) {
  const Vec most = broadcast(largest);
  return accumulate(x, n, [&](Vec v, Vec sum) { return add(exponential(sub(v, most)), sum); });
}

// (a, b) -> (fma(a, cos, -(b sin)), fma(a, sin, b cos))
inline void rotate_halves(float* x, int64_t half, const float* cos, const float* sin) {
  const auto first = [](Vec a, Vec b, Vec c, Vec s) { return fma(a, c, negate(mul(b, s))); };
  const auto second = [](Vec a, Vec b, Vec c, Vec s) { return fma(a, s, mul(b, c)); };
  int64_t i = 0;
  for (; i + kLanes <= half; i += kLanes) {
    const Vec a = load(x + i), b = load(x + half + i), c = load(cos + i), s = load(sin + i);
    store(x + i, first(a, b, c, s));
    store(x + half + i, second(a, b, c, s));
  }
  const int tail = static_cast<int>(half - i);
  if (tail > 0) {
    const Vec a = load_partial(x + i, tail, 0.0f), b = load_partial(x + half + i, tail, 0.0f);
    const Vec c = load_partial(cos + i, tail, 0.0f), s = load_partial(sin + i, tail, 0.0f);
    store_partial(x + i, tail, first(a, b, c, s));
    store_partial(x + half + i, tail, second(a, b, c, s));
  }
}

inline void rotate_pairs(float* x, int64_t half, const float* cos, const float* sin) {
  for (int64_t i = 0; i < half; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    x[2 * i] = fma(a, cos[i], -(b * sin[i]));
    x[2 * i + 1] = fma(a, sin[i], b * cos[i]);
  }
}

inline void rope(float* x, int64_t heads, int64_t head_stride, int64_t rotary, RopeLayout layout,
                 const float* cos, const float* sin) {
  for (int64_t h = 0; h < heads; ++h) {
    if (layout == RopeLayout::kHalves) {
      rotate_halves(x + h * head_stride, rotary / 2, cos, sin);
    } else {
      rotate_pairs(x + h * head_stride, rotary / 2, cos, sin);
    }
  }
}

}  // namespace
}  // namespace pawl::kernels
