// SPDX-License-Identifier: Apache-2.0
// Text to ids and back, against reference data: every case of tests/golden/tokenizers in a bare
// clone, and of the shared golden data and the real models where they are present.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/test_files.h"
#include "text/tokenizer.h"

namespace pawl::text {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string from_base64(const std::string& text) {
  static const std::string kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xFF));
  }
  return bytes;
}

void check_encode(const Tokenizer& tokenizer, const json& golden) {
  int wrong = 0;
  for (const json& item : golden["cases"]) {
    const EncodeOptions options{.add_bos = item["add_bos"], .parse_special = item["parse_special"]};
    const std::string text = item["text"];
    auto ids = tokenizer.encode(text, options);
    ASSERT_TRUE(ids.ok()) << ids.error().message;
    if (*ids == item["ids"].get<std::vector<TokenId>>()) continue;
    if (++wrong > 10) continue;
    ADD_FAILURE() << "text " << item["text"].dump(-1, ' ', true).substr(0, 200) << " parse_special "
                  << options.parse_special << " add_bos " << options.add_bos << "\nids  "
                  << json(*ids).dump().substr(0, 300) << "\nwant "
                  << item["ids"].dump().substr(0, 300);
  }
  EXPECT_EQ(wrong, 0) << "of " << golden["cases"].size() << " cases";
}

void check_decode(const Tokenizer& tokenizer, const json& golden) {
  for (const json& item : golden["detokenize"]) {
    const auto ids = item["ids"].get<std::vector<TokenId>>();
    const bool special = item["special"];
    for (size_t i = 0; i < ids.size(); ++i) {
      std::string piece;
      tokenizer.append_piece(ids[i], special, piece);
      EXPECT_EQ(piece, from_base64(item["pieces_base64"][i])) << "id " << ids[i];
    }
    auto text = tokenizer.decode(ids, special);
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(*text, from_base64(item["text_bytes_base64"]));
  }
}

void check_all(const fs::path& model, const fs::path& data) {
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(model);
  ASSERT_NE(tokenizer, nullptr);
  const json golden = read_json(data);
  ASSERT_TRUE(golden.is_object()) << data;
  ASSERT_EQ(tokenizer->vocab().size(), golden["n_vocab"].get<size_t>());
  ASSERT_GT(golden["cases"].size(), 400u);
  check_encode(*tokenizer, golden);
  check_decode(*tokenizer, golden);
}

class TinyGolden : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(TinyGolden, EveryCase) {
  const auto [model, data] = GetParam();
  check_all(clone_golden() / "tiny" / (std::string(model) + ".gguf"),
            clone_golden() / "tokenizers" / (std::string(data) + ".json"));
}

INSTANTIATE_TEST_SUITE_P(Tokenizer, TinyGolden,
                         testing::Values(std::pair{"llama-untied", "tiny-bpe-qwen2"},
                                         std::pair{"gpt2", "tiny-bpe-gpt2"},
                                         std::pair{"llama-spm", "tiny-spm-llama"},
                                         std::pair{"gemma3", "tiny-spm-gemma"}));

class RealGolden : public testing::TestWithParam<const char*> {};

TEST_P(RealGolden, EveryCase) {
  const std::string name = GetParam();
  const fs::path data = shared_golden() / "tokenizers" / (name + ".json");
  if (!fs::exists(data)) GTEST_SKIP() << "missing: golden data tokenizers/" << name << ".json";
  if (!fs::exists(model_file(name))) GTEST_SKIP() << "missing: model " << name;
  check_all(model_file(name), data);
}

INSTANTIATE_TEST_SUITE_P(Tokenizer, RealGolden,
                         testing::Values("gemma3-270m", "qwen2.5-coder-0.5b"));

}  // namespace
}  // namespace pawl::text
