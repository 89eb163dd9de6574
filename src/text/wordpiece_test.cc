// SPDX-License-Identifier: Apache-2.0
// WordPiece against what the Hugging Face tokenizer of BERT makes of the same vocabularies
// (tests/golden/tokenizers/wordpiece.json, made by tools/make_wordpiece_golden.py).
#include "text/wordpiece.h"

#include <gtest/gtest.h>

#include "text/test_files.h"

namespace pawl::text {
namespace {

using nlohmann::json;

const json& reference() {
  static const json data = read_json(clone_golden() / "tokenizers/wordpiece.json");
  return data;
}

gguf::Writer file_of(const json& model) {
  gguf::Writer writer;
  writer.add("tokenizer.ggml.model", "bert");
  writer.add_array("tokenizer.ggml.tokens", model["tokens"].get<std::vector<std::string>>());
  writer.add_array("tokenizer.ggml.token_type", model["types"].get<std::vector<int32_t>>());
  writer.add("tokenizer.ggml.unknown_token_id", uint32_t{1});
  writer.add("tokenizer.ggml.normalizer.lowercase", model["lowers"].get<bool>());
  return writer;
}

TEST(WordPiece, GivesTheIdsOfTheReference) {
  ASSERT_EQ(reference().size(), 2u);
  for (const json& model : reference()) {
    const auto tokenizer = create_tokenizer(file_of(model));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    ASSERT_GE(model["cases"].size(), 80u);
    for (const json& item : model["cases"]) {
      const auto text = item["text"].get<std::string>();
      const auto ids = (*tokenizer)->encode(text, {.add_bos = false});
      ASSERT_TRUE(ids.ok());
      EXPECT_EQ(*ids, item["ids"].get<std::vector<TokenId>>()) << json(text);
    }
  }
}

TEST(WordPiece, ATextStandsBetweenItsMarks) {
  const auto tokenizer = create_tokenizer(file_of(reference()[0]));
  ASSERT_TRUE(tokenizer.ok());
  const auto ids = (*tokenizer)->encode("the sea").value();
  ASSERT_GE(ids.size(), 3u);
  EXPECT_EQ((*tokenizer)->vocab().text(ids.front()), "[CLS]");
  EXPECT_EQ((*tokenizer)->vocab().text(ids.back()), "[SEP]");
}

TEST(WordPiece, WithoutAnUnknownTokenItIsRefused) {
  gguf::Writer writer;
  writer.add("tokenizer.ggml.model", "bert");
  writer.add_array("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  const auto tokenizer = create_tokenizer(writer);
  ASSERT_FALSE(tokenizer.ok());
  EXPECT_EQ(tokenizer.error().where, "tokenizer.ggml.unknown_token_id");
}

TEST(WordPiece, BytesThatAreNoTextAreLeftOut) {
  const auto tokenizer = create_tokenizer(file_of(reference()[0]));
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ((*tokenizer)->encode("the\xff sea\xc3").value(),
            (*tokenizer)->encode("the sea").value());
}

}  // namespace
}  // namespace pawl::text
