// SPDX-License-Identifier: Apache-2.0
#include "text/test_files.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace pawl::text {

namespace fs = std::filesystem;

fs::path clone_golden() {
  return fs::path(PAWL_SOURCE_DIR) / "tests/golden";
}

fs::path shared_golden() {
  const char* set = std::getenv("PAWL_SHARED");
  return (set != nullptr ? fs::path(set) : fs::path(PAWL_SOURCE_DIR) / "../shared") / "golden";
}

fs::path model_file(const std::string& name) {
  const char* home = std::getenv("HOME");
  const char* set = std::getenv("PAWL_HOME");
  const fs::path pawl =
      set != nullptr ? fs::path(set) : fs::path(home == nullptr ? "" : home) / ".cache/pawl";
  return pawl / "models" / (name + ".gguf");
}

nlohmann::json read_json(const fs::path& path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in, nullptr, false);
}

std::unique_ptr<Tokenizer> open_tokenizer(const fs::path& path) {
  auto file = gguf::open(path.string());
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
  if (!file.ok()) return nullptr;
  auto tokenizer = Tokenizer::create(*file);
  EXPECT_TRUE(tokenizer.ok()) << (tokenizer.ok() ? "" : tokenizer.error().message);
  return tokenizer.ok() ? std::move(*tokenizer) : nullptr;
}

std::unique_ptr<Tokenizer> open_tiny(const std::string& name) {
  return open_tokenizer(clone_golden() / "tiny" / (name + ".gguf"));
}

TinyVocabulary TinyVocabulary::of(const std::string& tiny_name) {
  TinyVocabulary made;
  auto file = gguf::open((clone_golden() / "tiny" / (tiny_name + ".gguf")).string());
  EXPECT_TRUE(file.ok());
  if (!file.ok()) return made;
  const gguf::Metadata& metadata = (*file)->metadata();
  made.model = metadata.get_string("tokenizer.ggml.model").value();
  made.pre = metadata.get_string("tokenizer.ggml.pre").value();
  const auto tokens = metadata.get_string_array("tokenizer.ggml.tokens").value();
  for (std::string_view text : tokens) made.tokens.emplace_back(text);
  const auto types = metadata.get_i32_array("tokenizer.ggml.token_type").value();
  for (size_t i = 0; i < types.size(); ++i) made.types.push_back(types[i]);
  if (metadata.find("tokenizer.ggml.scores") != nullptr) {
    const auto scores = metadata.get_f32_array("tokenizer.ggml.scores").value();
    for (size_t i = 0; i < scores.size(); ++i) made.scores.push_back(scores[i]);
  }
  if (metadata.find("tokenizer.ggml.merges") != nullptr) {
    const auto merges = metadata.get_string_array("tokenizer.ggml.merges").value();
    for (std::string_view text : merges) made.merges.emplace_back(text);
  }
  return made;
}

TinyVocabulary TinyVocabulary::smallest_spm() {
  TinyVocabulary made;
  made.model = "llama";
  const auto add = [&made](std::string text, TokenType type, float score) {
    made.tokens.push_back(std::move(text));
    made.types.push_back(static_cast<int32_t>(type));
    made.scores.push_back(score);
  };
  add("<unk>", TokenType::kUnknown, 0);
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof(text), "<0x%02X>", byte);
    add(text, TokenType::kByte, 0);
  }
  add("\xE2\x96\x81", TokenType::kNormal, -2);
  add("a", TokenType::kNormal, -3);
  add("\xE2\x96\x81"
      "a",
      TokenType::kNormal, -1);
  return made;
}

base::Result<std::unique_ptr<Tokenizer>> TinyVocabulary::create(
    const std::function<void(gguf::Writer&)>& more) const {
  gguf::Writer writer;
  writer.add("tokenizer.ggml.model", model);
  if (!pre.empty()) writer.add("tokenizer.ggml.pre", pre);
  writer.add_array("tokenizer.ggml.tokens", tokens);
  if (!types.empty()) writer.add_array("tokenizer.ggml.token_type", types);
  if (!scores.empty()) writer.add_array("tokenizer.ggml.scores", scores);
  if (!merges.empty()) writer.add_array("tokenizer.ggml.merges", merges);
  more(writer);
  return create_tokenizer(writer);
}

base::Result<std::unique_ptr<Tokenizer>> create_tokenizer(const gguf::Writer& writer) {
  // The bytes must outlive the file, which the tokenizer keeps: they live as long as the program.
  static std::vector<std::unique_ptr<std::vector<std::byte>>> kept;
  kept.push_back(std::make_unique<std::vector<std::byte>>(writer.bytes()));
  auto file = gguf::open_bytes(*kept.back());
  if (!file.ok()) return std::move(file).error();
  return Tokenizer::create(*file);
}

}  // namespace pawl::text
