// SPDX-License-Identifier: Apache-2.0
// Random numbers without a generator to advance: each one is a function of (seed, position, draw),
// so that a replay, a neighbour in the batch or a rejected draft cannot shift it.
#pragma once

#include <array>
#include <cstdint>

namespace pawl::base {

// Philox4x32 with ten rounds: four random words from a counter and a key.
// Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3.
constexpr std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key) {
  constexpr int kRounds = 10;
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t a = kMultiplier0 * counter[0];
    const uint64_t b = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

// Uniform in [0, 1), a multiple of 2^-53. `draw` tells apart several numbers for one position.
constexpr double uniform(uint64_t seed, uint64_t position, uint64_t draw) {
  const std::array<uint32_t, 4> words =
      philox4x32({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32),
                  static_cast<uint32_t>(draw), static_cast<uint32_t>(draw >> 32)},
                 {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const uint64_t bits = (static_cast<uint64_t>(words[1]) << 32) | words[0];
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace pawl::base
