// SPDX-License-Identifier: Apache-2.0
#include "text/stream_decoder.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "text/test_files.h"

namespace pawl::text {
namespace {

std::string byte_text(uint8_t byte) {
  char text[8];
  std::snprintf(text, sizeof(text), "<0x%02X>", byte);
  return text;
}

// Feeds each byte as a token of its own, as a model does that falls back to bytes.
std::vector<std::string> stream_bytes(const Tokenizer& tokenizer, const std::string& bytes) {
  StreamDecoder decoder(tokenizer, {});
  std::vector<std::string> outputs;
  for (char c : bytes) {
    std::string out;
    decoder.push(tokenizer.vocab().find(byte_text(static_cast<uint8_t>(c))), out);
    outputs.push_back(out);
  }
  std::string out;
  decoder.flush(out);
  outputs.push_back(out);
  return outputs;
}

using Outputs = std::vector<std::string>;
constexpr const char* kBad = "\xEF\xBF\xBD";

TEST(StreamDecoder, NeverShowsHalfACharacter) {
  const auto tokenizer = open_tiny("llama-spm");
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(stream_bytes(*tokenizer,
                         "\xF0\x9F\x98\x80"
                         "a"),
            (Outputs{"", "", "", "\xF0\x9F\x98\x80", "a", ""}));
}

TEST(StreamDecoder, S026_EverySplitOfACharacterWaitsForItsEnd) {
  const auto tokenizer = open_tiny("llama-spm");
  ASSERT_NE(tokenizer, nullptr);
  for (const std::string character : {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x99\x82"}) {
    Outputs expected(character.size() + 1);
    expected[character.size() - 1] = character;
    EXPECT_EQ(stream_bytes(*tokenizer, character), expected);
  }
}

TEST(StreamDecoder, BrokenBytesBecomeOneReplacementEachMaximalPart) {
  const auto tokenizer = open_tiny("llama-spm");
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(stream_bytes(*tokenizer, "\xE2\x82z"), (Outputs{"", "", std::string(kBad) + "z", ""}));
  EXPECT_EQ(stream_bytes(*tokenizer, "\xFFz\x80"), (Outputs{kBad, "z", kBad, ""}));
  EXPECT_EQ(stream_bytes(*tokenizer, "z\xF0\x9F\x98"), (Outputs{"z", "", "", "", kBad}));
}

// Any ids at all: the outputs are valid by themselves, and joined they are the decoded text.
TEST(StreamDecoder, OutputsJoinedAreTheDecodedText) {
  std::mt19937 random(7);
  for (const char* name : {"llama-spm", "gemma3", "gpt2", "llama-untied"}) {
    const auto tokenizer = open_tiny(name);
    ASSERT_NE(tokenizer, nullptr);
    const uint32_t size = static_cast<uint32_t>(tokenizer->vocab().size());
    for (int round = 0; round < 300; ++round) {
      const bool special = round % 2 == 0;
      std::vector<TokenId> ids(random() % 30);
      for (TokenId& id : ids) id = static_cast<TokenId>(random() % size);
      StreamDecoder decoder(*tokenizer, {.special = special, .begins_text = true});
      std::string joined;
      for (TokenId id : ids) {
        std::string out;
        decoder.push(id, out);
        ASSERT_TRUE(base::is_valid_utf8(out));
        ASSERT_LE(decoder.pending().size(), 3u);
        joined += out;
      }
      decoder.flush(joined);
      std::string want;
      base::append_valid_utf8(tokenizer->decode(ids, special).value(), want);
      ASSERT_EQ(joined, want) << name;
    }
  }
}

TEST(StreamDecoder, ACompletionKeepsTheSpaceOfItsFirstWord) {
  const auto tokenizer = open_tiny("llama-spm");
  ASSERT_NE(tokenizer, nullptr);
  const auto ids = tokenizer->encode("the", {.add_bos = false}).value();
  for (const bool begins_text : {true, false}) {
    StreamDecoder decoder(*tokenizer, {.begins_text = begins_text});
    std::string text;
    for (TokenId id : ids) decoder.push(id, text);
    decoder.flush(text);
    EXPECT_EQ(text, begins_text ? "the" : " the");
  }
}

}  // namespace
}  // namespace pawl::text
