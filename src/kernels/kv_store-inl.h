// SPDX-License-Identifier: Apache-2.0
// Writing one position into a KV block, once, over the Vec of whichever vec.h was included before.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace pawl::kernels {
namespace {

inline void put_key(float* to, int n, Vec v) {
  float lanes[kLanes];
  store(lanes, v);
  for (int i = 0; i < n; ++i) to[i * kKvBlock] = lanes[i];
}
inline void put_key(Half* to, int n, Vec v) {
  Half lanes[kLanes];
  store_partial(lanes, kLanes, v);
  for (int i = 0; i < n; ++i) to[i * kKvBlock] = lanes[i];
}

template <typename T>
inline void store_key(const float* k, int head_dim, int slot, T* k_block) {
  for (int i = 0; i < head_dim; i += kLanes) {
    const int n = head_dim - i < kLanes ? head_dim - i : kLanes;
    put_key(k_block + static_cast<int64_t>(i) * kKvBlock + slot, n, load_partial(k + i, n, 0.0f));
  }
}

template <typename T>
inline void store_value(const float* v, int value_dim, int slot, T* v_block) {
  for (int i = 0; i < value_dim; i += kLanes) {
    const int n = value_dim - i < kLanes ? value_dim - i : kLanes;
    store_partial(v_block + static_cast<int64_t>(slot) * value_dim + i, n,
                  load_partial(v + i, n, 0.0f));
  }
}

// One group of at most kKvGroup entries as codes, put `apart` bytes apart; gives the scale.
inline float store_codes(const float* x, int n, int8_t* to, int apart) {
  float most = 0.0f;
  bool is_finite = true;
  for (int i = 0; i < n; ++i) {
    const float magnitude = __builtin_fabsf(x[i]);
    is_finite &= magnitude <= 3.40282347e38f;
    most = greater(magnitude, most);
  }
  const bool has_codes = is_finite && most >= 1e-30f;
  const float inverse = has_codes ? 127.0f / most : 0.0f;
  constexpr float kWhole = 12582912.0f;  // 1.5 * 2^23: a sum with it is rounded to ones
  for (int i = 0; i < n; ++i) {
    const float code = has_codes ? x[i] * inverse + kWhole - kWhole : 0.0f;
    to[i * apart] = static_cast<int8_t>(code);
  }
  if (!is_finite) return __builtin_nanf("");
  return has_codes ? most / 127.0f : 0.0f;
}

inline void store_coded_key(const float* k, int head_dim, int slot, std::byte* k_block) {
  auto* k_codes = reinterpret_cast<int8_t*>(k_block);
  auto* k_scales = reinterpret_cast<Half*>(k_codes + head_dim * kKvBlock);
  for (int i = 0; i < head_dim; i += kKvGroup) {
    const int n = head_dim - i < kKvGroup ? head_dim - i : kKvGroup;
    const float scale = store_codes(k + i, n, k_codes + i * kKvBlock + slot, kKvBlock);
    store_partial(k_scales + i / kKvGroup * kKvBlock + slot, 1, broadcast(scale));
  }
}

inline void store_coded_value(const float* v, int value_dim, int slot, std::byte* v_block) {
  auto* v_codes = reinterpret_cast<int8_t*>(v_block);
  auto* v_scales = reinterpret_cast<Half*>(v_codes + value_dim * kKvBlock);
  const int groups = kv_groups(value_dim);
  for (int i = 0; i < value_dim; i += kKvGroup) {
    const int n = value_dim - i < kKvGroup ? value_dim - i : kKvGroup;
    const float scale = store_codes(v + i, n, v_codes + slot * value_dim + i, 1);
    store_partial(v_scales + slot * groups + i / kKvGroup, 1, broadcast(scale));
  }
}

inline void store_kv(KvType type, const float* k, int head_dim, const float* v, int value_dim,
                     int slot, std::byte* k_block, std::byte* v_block) {
  if (has_coded_keys(type)) {
    store_coded_key(k, head_dim, slot, k_block);
  } else if (type == KvType::kF32) {
    store_key(k, head_dim, slot, reinterpret_cast<float*>(k_block));
  } else {
    store_key(k, head_dim, slot, reinterpret_cast<Half*>(k_block));
  }
  if (has_coded_values(type)) {
    store_coded_value(v, value_dim, slot, v_block);
  } else if (type == KvType::kF32) {
    store_value(v, value_dim, slot, reinterpret_cast<float*>(v_block));
  } else {
    store_value(v, value_dim, slot, reinterpret_cast<Half*>(v_block));
  }
}

}  // namespace
}  // namespace pawl::kernels
