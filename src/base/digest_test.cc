// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

#include <gtest/gtest.h>

#include <string_view>

namespace pawl::base {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The published examples of FIPS 180-4 (one block, two blocks, a million 'a'), and the empty
// message.
TEST(Digest, Sha256GivesThePublishedVectors) {
  EXPECT_EQ(sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(bytes_of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  Sha256 digest;
  const std::string thousand(1000, 'a');
  for (int i = 0; i < 1000; ++i) digest.update(bytes_of(thousand));
  EXPECT_EQ(digest.finish_hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digest, Sha256StartsAgainAfterFinish) {
  Sha256 digest;
  digest.update(bytes_of("something else"));
  (void)digest.finish_hex();
  digest.update(bytes_of("abc"));
  EXPECT_EQ(digest.finish_hex(), sha256_hex(bytes_of("abc")));
}

// RFC 4648 §10
TEST(Digest, Base64GivesThePublishedTexts) {
  EXPECT_EQ(base64({}), "");
  EXPECT_EQ(base64(bytes_of("f")), "Zg==");
  EXPECT_EQ(base64(bytes_of("fo")), "Zm8=");
  EXPECT_EQ(base64(bytes_of("foobar")), "Zm9vYmFy");
}

// The value that the XXH3 specification's tools give for the empty input.
TEST(Digest, Xxh3GivesThePublishedValueOfTheEmptyInput) {
  EXPECT_EQ(xxh3_128({}), "xxh3-128:99aa06d3014798d86001c324468d497f");
}

}  // namespace
}  // namespace pawl::base
