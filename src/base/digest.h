// SPDX-License-Identifier: Apache-2.0
// Digests. SHA-256 where it must be hard to forge (files, prefixes), XXH3-128 where it must be fast
// (rows of logits). digest.cc is the only user of both libraries, one of which also writes base64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace pawl::base {

// A SHA-256 in progress (FIPS 180-4). Threads: one at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(std::span<const std::byte> bytes);

  // The digest of all that was given, 64 lower-case hex digits; afterwards as new.
  std::string finish_hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// 64 lower-case hex digits.
std::string sha256_hex(std::span<const std::byte> bytes);

// "xxh3-128:" and 32 lower-case hex digits, in the canonical (big-endian) order.
std::string xxh3_128(std::span<const std::byte> bytes);

// RFC 4648 §4, with padding. REQUIRES: at most 1 GB
std::string base64(std::span<const std::byte> bytes);

// XXH3-64, for hash tables within the process: what is found is compared, never trusted.
uint64_t xxh3_64(std::span<const std::byte> bytes, uint64_t seed);

}  // namespace pawl::base
