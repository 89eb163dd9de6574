// SPDX-License-Identifier: Apache-2.0
// What layers with a state compute per position, over the Vec of whichever vec.h was included
// before. Lanes are channels, so no sum goes across lanes.
#pragma once

#include "kernels/elementwise-inl.h"

namespace pawl::kernels {
namespace {

inline Vec load_lanes(const float* from, int n) {
  return n == kLanes ? load(from) : load_partial(from, n, 0.0f);
}
inline void store_lanes(float* to, int n, Vec v) {
  if (n == kLanes) return store(to, v);
  store_partial(to, n, v);
}

// log(1 + t) for 0 <= t <= 1, at most 3 ulp off: 2 artanh(s) with s = t / (2 + t) <= 1/3, by its
// power series.
inline Vec log_one_plus(Vec t) {
  const Vec s = div(t, add(broadcast(2.0f), t));
  const Vec square = mul(s, s);
  Vec series = broadcast(1.0f / 17.0f);
  for (const float odd : {15.0f, 13.0f, 11.0f, 9.0f, 7.0f, 5.0f, 3.0f}) {
    series = fma(series, square, broadcast(1.0f / odd));
  }
  const Vec twice = add(s, s);
  return fma(mul(twice, square), series, twice);
}

inline void softplus(float* x, int64_t n) {
  map(x, n, x, [](Vec v) {
    return add(max(broadcast(0.0f), v), log_one_plus(exponential(negate(absolute(v)))));
  });
}

inline void exponential_of(float* x, int64_t n) {
  map(x, n, x, [](Vec v) { return exponential(v); });
}

// Calls f(first lane, lanes) until all of n are covered.
template <typename F>
inline void for_lanes(int64_t n, F f) {
  for (int64_t i = 0; i < n; i += kLanes) f(i, static_cast<int>(n - i < kLanes ? n - i : kLanes));
}

inline void convolve(const Convolution& c) {
  for_lanes(c.channels, [&](int64_t i, int n) {
    for (int64_t t = 0; t < c.tokens; ++t) {
      const Vec x = load_lanes(c.x + t * c.stride + i, n);
      Vec sum = c.bias == nullptr ? broadcast(0.0f) : load_lanes(c.bias + i, n);
      for (int j = 0; j + 1 < c.taps; ++j) {
        float* at = c.window + j * c.stride + i;
        const Vec before = load_lanes(at, n);
        sum = fma(load_lanes(c.w + j * c.stride + i, n), before, sum);
        store_lanes(at, n, j + 2 < c.taps ? load_lanes(at + c.stride, n) : x);
      }
      sum = fma(load_lanes(c.w + (c.taps - 1) * c.stride + i, n), x, sum);
      store_lanes(c.x + t * c.stride + i, n, sum);
    }
  });
}

inline void selective_step(const StateStep& step, const float* rates, const float* dt) {
  for_lanes(step.n, [&](int64_t i, int n) {
    const Vec size = load_lanes(dt + i, n);
    const Vec in = mul(load_lanes(step.x + i, n), size);
    Vec out = broadcast(0.0f);
    for (int64_t s = 0; s < step.states; ++s) {
      float* at = step.state + s * step.stride + i;
      const Vec decay = exponential(mul(size, load_lanes(rates + s * step.stride + i, n)));
      const Vec state = fma(load_lanes(at, n), decay, mul(broadcast(step.write[s]), in));
      store_lanes(at, n, state);
      out = fma(state, broadcast(step.read[s]), out);
    }
    store_lanes(step.out + i, n, out);
  });
}

inline void decay_step(const StateStep& step, float decay, float dt) {
  for_lanes(step.n, [&](int64_t i, int n) {
    const Vec in = mul(load_lanes(step.x + i, n), broadcast(dt)), factor = broadcast(decay);
    Vec out = broadcast(0.0f);
    for (int64_t s = 0; s < step.states; ++s) {
      float* at = step.state + s * step.stride + i;
      const Vec state = fma(load_lanes(at, n), factor, mul(broadcast(step.write[s]), in));
      store_lanes(at, n, state);
      out = fma(state, broadcast(step.read[s]), out);
    }
    store_lanes(step.out + i, n, out);
  });
}

inline void delta_step(const StateStep& step, float decay, float beta) {
  for_lanes(step.n, [&](int64_t i, int n) {
    const Vec factor = broadcast(decay);
    Vec known = broadcast(0.0f);
    for (int64_t s = 0; s < step.states; ++s) {
      float* at = step.state + s * step.stride + i;
      const Vec state = mul(load_lanes(at, n), factor);
      store_lanes(at, n, state);
      known = fma(state, broadcast(step.write[s]), known);
    }
    const Vec news = mul(sub(load_lanes(step.x + i, n), known), broadcast(beta));
    Vec out = broadcast(0.0f);
    for (int64_t s = 0; s < step.states; ++s) {
      float* at = step.state + s * step.stride + i;
      const Vec state = fma(broadcast(step.write[s]), news, load_lanes(at, n));
      store_lanes(at, n, state);
      out = fma(state, broadcast(step.read[s]), out);
    }
    store_lanes(step.out + i, n, out);
  });
}

}  // namespace
}  // namespace pawl::kernels
