// SPDX-License-Identifier: Apache-2.0
// Unigram against what SentencePiece makes of the same vocabularies
// (tests/golden/tokenizers/unigram.json, made by tools/make_unigram_golden.py).
#include "text/unigram.h"

#include <gtest/gtest.h>

#include <random>

#include "text/test_files.h"

namespace pawl::text {
namespace {

using nlohmann::json;

std::vector<uint8_t> from_base64(const std::string& text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<uint8_t> bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<uint8_t>(bits >> count));
  }
  return bytes;
}

gguf::Writer file_of(const json& model, const std::vector<uint8_t>& char_map) {
  gguf::Writer writer;
  writer.add("tokenizer.ggml.model", "t5");
  writer.add_array("tokenizer.ggml.tokens", model["tokens"].get<std::vector<std::string>>());
  writer.add_array("tokenizer.ggml.scores", model["scores"].get<std::vector<float>>());
  writer.add_array("tokenizer.ggml.token_type", model["types"].get<std::vector<int32_t>>());
  writer.add("tokenizer.ggml.unknown_token_id", uint32_t{0});
  writer.add("tokenizer.ggml.eos_token_id", uint32_t{2});
  writer.add("tokenizer.ggml.add_space_prefix", model["add_space_prefix"].get<bool>());
  writer.add("tokenizer.ggml.remove_extra_whitespaces",
             model["remove_extra_whitespaces"].get<bool>());
  if (!char_map.empty()) writer.add_array("tokenizer.ggml.precompiled_charsmap", char_map);
  return writer;
}

const json& reference() {
  static const json data = read_json(clone_golden() / "tokenizers/unigram.json");
  return data;
}

TEST(Unigram, GivesTheIdsOfTheReference) {
  ASSERT_EQ(reference().size(), 2u);
  for (const json& model : reference()) {
    const auto tokenizer = create_tokenizer(
        file_of(model, from_base64(model["precompiled_charsmap"].get<std::string>())));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    ASSERT_GE(model["cases"].size(), 80u);
    for (const json& item : model["cases"]) {
      const auto text = item["text"].get<std::string>();
      const auto ids = (*tokenizer)->encode(text, {.add_bos = false});
      ASSERT_TRUE(ids.ok());
      EXPECT_EQ(*ids, item["ids"].get<std::vector<TokenId>>())
          << model["name"] << ": " << json(text);
    }
  }
}

TEST(Unigram, AddsTheEndWhereTheFileSaysSo) {
  gguf::Writer writer = file_of(reference()[0], {});
  writer.add("tokenizer.ggml.add_eos_token", true);
  const auto tokenizer = create_tokenizer(writer);
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ((*tokenizer)->encode("the").value().back(), 2);
}

TEST(Unigram, WithoutAnUnknownTokenItIsRefused) {
  gguf::Writer writer;
  writer.add("tokenizer.ggml.model", "t5");
  writer.add_array("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  writer.add_array("tokenizer.ggml.scores", std::vector<float>{0});
  const auto tokenizer = create_tokenizer(writer);
  ASSERT_FALSE(tokenizer.ok());
  EXPECT_EQ(tokenizer.error().where, "tokenizer.ggml.unknown_token_id");
}

// Reads outside are for the sanitizers to see.
TEST(Unigram, ADamagedTableOfCharactersIsRefusedOrReadWithinItsBytes) {
  const json& model = reference()[0];
  const auto whole = from_base64(model["precompiled_charsmap"].get<std::string>());
  ASSERT_GT(whole.size(), 100u);
  for (size_t size = 1; size < whole.size(); size += 37) {
    const auto cut = create_tokenizer(
        file_of(model, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}));
    if (cut.ok()) (void)(*cut)->encode("the sea e\u0301\u0302 \uff21");
  }
  std::mt19937_64 random(5);
  for (int i = 0; i < 500; ++i) {
    std::vector<uint8_t> damaged = whole;
    for (int k = 0; k < 8; ++k) damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
    const auto tokenizer = create_tokenizer(file_of(model, damaged));
    if (!tokenizer.ok()) continue;
    const auto ids = (*tokenizer)->encode("the sea \uff21\uff22 e\u0301\u0302 x\u200by \u2026\t\n");
    EXPECT_TRUE(ids.ok());
  }
}

}  // namespace
}  // namespace pawl::text
