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
inline void store_position(const float* k, int head_dim, const float* v, int value_dim, int slot,
                           T* k_block, T* v_block) {
  for (int i = 0; i < head_dim; i += kLanes) {
    const int n = head_dim - i < kLanes ? head_dim - i : kLanes;
    put_key(k_block + static_cast<int64_t>(i) * kKvBlock + slot, n, load_partial(k + i, n, 0.0f));
  }
  for (int i = 0; i < value_dim; i += kLanes) {
    const int n = value_dim - i < kLanes ? value_dim - i : kLanes;
    store_partial(v_block + static_cast<int64_t>(slot) * value_dim + i, n,
                  load_partial(v + i, n, 0.0f));
  }
}

inline void store_kv(KvType type, const float* k, int head_dim, const float* v, int value_dim,
                     int slot, std::byte* k_block, std::byte* v_block) {
  if (type == KvType::kF16) {
    store_position(k, head_dim, v, value_dim, slot, reinterpret_cast<Half*>(k_block),
                   reinterpret_cast<Half*>(v_block));
  } else {
    store_position(k, head_dim, v, value_dim, slot, reinterpret_cast<float*>(k_block),
                   reinterpret_cast<float*>(v_block));
  }
}

}  // namespace
}  // namespace pawl::kernels
