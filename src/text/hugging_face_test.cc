// SPDX-License-Identifier: Apache-2.0
// Against what the Hugging Face `tokenizers` library makes of the same vocabularies and expressions
// (tests/golden/tokenizers/hugging-face.json, made by tools/make_tokenizer_golden.py).
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "text/pretokenizer.h"
#include "text/test_files.h"
#include "text/tokenizer.h"

namespace pawl::text {
namespace {

using nlohmann::json;

const json& reference() {
  static const json data = read_json(clone_golden() / "tokenizers/hugging-face.json");
  return data;
}

std::unique_ptr<Tokenizer> create_with_pre(const std::string& model, const std::string& pre) {
  TinyVocabulary vocabulary = TinyVocabulary::of(model);
  if (!pre.empty()) vocabulary.pre = pre;
  auto tokenizer = vocabulary.create([](gguf::Writer& writer) {
    writer.add("tokenizer.ggml.add_bos_token", false);
    writer.add("tokenizer.ggml.add_space_prefix", false);
  });
  EXPECT_TRUE(tokenizer.ok()) << (tokenizer.ok() ? "" : tokenizer.error().message);
  return tokenizer.ok() ? std::move(*tokenizer) : nullptr;
}

TEST(Tokenizer, S001_OneCharacterRepeatedGivesTheReferenceIds) {
  ASSERT_EQ(reference()["repeated"].size(), 40u);
  for (const json& item : reference()["repeated"]) {
    const std::string model = item["model"];
    const std::unique_ptr<Tokenizer> tokenizer =
        model == "llama-spm" ? open_tiny(model) : create_with_pre(model, item["pre"]);
    ASSERT_NE(tokenizer, nullptr);
    std::string text;
    for (int i = 0; i < item["count"].get<int>(); ++i) text += item["text"].get<std::string>();
    std::vector<TokenId> want = item["head"];
    for (int i = 0; i < item["times"].get<int>(); ++i) {
      for (TokenId id : item["cycle"].get<std::vector<TokenId>>()) want.push_back(id);
    }
    for (TokenId id : item["tail"].get<std::vector<TokenId>>()) want.push_back(id);
    auto ids = tokenizer->encode(text, {.add_bos = false, .parse_special = false});
    ASSERT_TRUE(ids.ok()) << ids.error().message;
    EXPECT_TRUE(*ids == want) << model << " " << item["pre"] << " "
                              << item["text"].dump(-1, ' ', true) << ": " << ids->size()
                              << " ids, want " << want.size();
  }
}

// Texts with <s>, </s> and others typed at the beginning, in the middle and at the end, each
// followed by a letter, a space or nothing.
TEST(Tokenizer, S002_S003_WhatFollowsASpecialTokenGivesTheReferenceIds) {
  const std::unique_ptr<Tokenizer> tokenizer = open_tiny("llama-spm");
  ASSERT_NE(tokenizer, nullptr);
  ASSERT_GT(reference()["after_special"].size(), 900u);
  int wrong = 0;
  for (const json& item : reference()["after_special"]) {
    auto ids = tokenizer->encode(item["text"].get<std::string>(),
                                 {.add_bos = false, .parse_special = true});
    ASSERT_TRUE(ids.ok());
    if (*ids == item["ids"].get<std::vector<TokenId>>() || ++wrong > 5) continue;
    ADD_FAILURE() << item["text"].dump() << "\nids  " << json(*ids).dump() << "\nwant "
                  << item["ids"].dump();
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Pretokenizer, CutsWordsAsTheReferenceDoes) {
  ASSERT_GT(reference()["words"].size(), 200u);
  std::map<std::string, Pretokenizer> made;
  for (const json& item : reference()["words"]) {
    const std::string name = item["pre"];
    const PretokenizerRow* row = find_pretokenizer(name);
    ASSERT_NE(row, nullptr) << name;
    if (!made.contains(name)) made.emplace(name, std::move(Pretokenizer::create(*row).value()));
    const std::string text = item["text"];
    std::vector<uint32_t> ends;
    ASSERT_TRUE(made.at(name).split(text, ends).ok());
    std::vector<std::string> words;
    uint32_t begin = 0;
    for (uint32_t end : ends) {
      words.push_back(text.substr(begin, end - begin));
      begin = end;
    }
    EXPECT_EQ(words, item["words"].get<std::vector<std::string>>()) << name << " " << text;
  }
}

}  // namespace
}  // namespace pawl::text
