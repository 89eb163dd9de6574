// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

#include <openssl/evp.h>
#include <xxhash.h>

#include <array>

#include "base/check.h"

namespace pawl::base {
namespace {

std::string to_hex(std::span<const unsigned char> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

}  // namespace

struct Sha256::State {
  State() : handle(EVP_MD_CTX_new()) { restart(); }
  ~State() { EVP_MD_CTX_free(handle); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void restart() { PAWL_CHECK(EVP_DigestInit_ex(handle, EVP_sha256(), nullptr) == 1); }

  EVP_MD_CTX* handle;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
  PAWL_CHECK(EVP_DigestUpdate(state_->handle, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::finish_hex() {
  std::array<unsigned char, 32> digest{};
  PAWL_CHECK(EVP_DigestFinal_ex(state_->handle, digest.data(), nullptr) == 1);
  state_->restart();
  return to_hex(digest);
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 digest;
  digest.update(bytes);
  return digest.finish_hex();
}

std::string xxh3_128(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return "xxh3-128:" + to_hex(canonical.digest);
}

std::string base64(std::span<const std::byte> bytes) {
  PAWL_CHECK(bytes.size() <= size_t{1} << 30);
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // a zero byte is written behind it
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(length));
  return text;
}

uint64_t xxh3_64(std::span<const std::byte> bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace pawl::base
