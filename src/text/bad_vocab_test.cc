// SPDX-License-Identifier: Apache-2.0
// Vocabularies that break their format: each ends in an Error that names the offender.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "text/test_files.h"
#include "text/tokenizer.h"

namespace pawl::text {
namespace {

std::string message_of(const base::Result<std::unique_ptr<Tokenizer>>& tokenizer) {
  return tokenizer.ok() ? std::string("no error") : tokenizer.error().message;
}

void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' in: " << message;
  }
}

// The keys of a vocabulary, written one by one so that each can be another type or length.
gguf::Writer write_all_but(const TinyVocabulary& vocabulary, const std::string& left_out) {
  gguf::Writer writer;
  writer.add("tokenizer.ggml.model", vocabulary.model);
  if (!vocabulary.pre.empty()) writer.add("tokenizer.ggml.pre", vocabulary.pre);
  if (left_out != "tokens") writer.add_array("tokenizer.ggml.tokens", vocabulary.tokens);
  if (left_out != "token_type") writer.add_array("tokenizer.ggml.token_type", vocabulary.types);
  if (left_out != "scores" && !vocabulary.scores.empty()) {
    writer.add_array("tokenizer.ggml.scores", vocabulary.scores);
  }
  if (left_out != "merges" && !vocabulary.merges.empty()) {
    writer.add_array("tokenizer.ggml.merges", vocabulary.merges);
  }
  return writer;
}

// Name of each element type and the bytes of one element.
const std::map<std::string, std::pair<gguf::ValueType, size_t>> kNumberTypes = {
    {"uint8", {gguf::ValueType::kUint8, 1}},     {"int8", {gguf::ValueType::kInt8, 1}},
    {"uint16", {gguf::ValueType::kUint16, 2}},   {"int16", {gguf::ValueType::kInt16, 2}},
    {"uint32", {gguf::ValueType::kUint32, 4}},   {"int32", {gguf::ValueType::kInt32, 4}},
    {"float32", {gguf::ValueType::kFloat32, 4}}, {"bool", {gguf::ValueType::kBool, 1}},
    {"uint64", {gguf::ValueType::kUint64, 8}},   {"int64", {gguf::ValueType::kInt64, 8}},
    {"float64", {gguf::ValueType::kFloat64, 8}}};

TEST(Vocab, S054_ArraysOfEveryWrongElementTypeAreRefused) {
  const std::map<std::string, std::string> wanted = {
      {"tokens", "string"}, {"scores", "float32"}, {"token_type", "int32"}, {"merges", "string"}};
  for (const auto& [name, want] : wanted) {
    const std::string key = "tokenizer.ggml." + name;
    const TinyVocabulary vocabulary = TinyVocabulary::of(name == "merges" ? "gpt2" : "llama-spm");
    for (const auto& [type_name, type] : kNumberTypes) {
      if (type_name == want || (want == "int32" && type_name == "uint32")) continue;
      gguf::Writer writer = write_all_but(vocabulary, name);
      const size_t count = vocabulary.tokens.size();
      writer.add_raw_array(key, type.first, count, std::vector<std::byte>(count * type.second));
      expect_parts(message_of(create_tokenizer(writer)), {key, type_name, want});
    }
    if (want == "string") continue;
    gguf::Writer writer = write_all_but(vocabulary, name);
    writer.add_array(key, std::vector<std::string>(vocabulary.tokens.size(), "x"));
    expect_parts(message_of(create_tokenizer(writer)), {key, "string", want});
  }
}

TEST(Vocab, S054_ArraysOfTheWrongLengthAreRefused) {
  for (const size_t length : {size_t{0}, size_t{4}, size_t{511}, size_t{513}}) {
    const TinyVocabulary vocabulary = TinyVocabulary::of("llama-spm");
    gguf::Writer scores = write_all_but(vocabulary, "scores");
    scores.add_array("tokenizer.ggml.scores", std::vector<float>(length));
    gguf::Writer types = write_all_but(vocabulary, "token_type");
    types.add_array("tokenizer.ggml.token_type", std::vector<int32_t>(length, 1));
    expect_parts(message_of(create_tokenizer(scores)),
                 {"tokenizer.ggml.scores", std::to_string(length), "512"});
    expect_parts(message_of(create_tokenizer(types)),
                 {"tokenizer.ggml.token_type", std::to_string(length), "512"});
  }
}

TEST(Vocab, MissingKeysAreNamed) {
  for (const char* name : {"tokens", "scores"}) {
    const gguf::Writer writer = write_all_but(TinyVocabulary::of("llama-spm"), name);
    expect_parts(message_of(create_tokenizer(writer)), {std::string("tokenizer.ggml.") + name});
  }
  const gguf::Writer writer = write_all_but(TinyVocabulary::of("gpt2"), "merges");
  expect_parts(message_of(create_tokenizer(writer)), {"tokenizer.ggml.merges"});
  expect_parts(message_of(create_tokenizer(gguf::Writer())), {"tokenizer.ggml.model"});
}

TEST(Vocab, S059_MalformedByteEntriesAreNamedWithNumberAndText) {
  for (const char* text : {"<0xGG>", "<0x4>", "<0x411>", "<0x41", "0x41>", "<0X41>", "<0x 1>",
                           "<0x-1>", "<0x+1>", "A", "", "<0x41>\n"}) {
    TinyVocabulary vocabulary = TinyVocabulary::smallest_spm();
    vocabulary.tokens[1 + 0x41] = text;
    expect_parts(message_of(vocabulary.create()), {"entry 66", base::quoted_text(text)});
  }
}

TEST(Vocab, S059_TwoEntriesForOneByteAndAByteWithoutOneAreRefused) {
  TinyVocabulary twice = TinyVocabulary::smallest_spm();
  twice.tokens[1 + 0x4B] = "<0x4a>";
  expect_parts(message_of(twice.create()), {"entry 76", "'<0x4a>'", "entry 75"});
  TinyVocabulary none = TinyVocabulary::smallest_spm();
  none.types[1 + 0x4B] = static_cast<int32_t>(TokenType::kNormal);
  expect_parts(message_of(none.create()), {"<0x4B>"});
  EXPECT_TRUE(TinyVocabulary::smallest_spm().create().ok());
}

TEST(Vocab, ByteLevelVocabulariesNeedEveryByteToo) {
  TinyVocabulary vocabulary = TinyVocabulary::of("gpt2");
  const auto at =
      std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), "\xC4\xA0");  // of 0x20
  ASSERT_NE(at, vocabulary.tokens.end());
  *at = "something else";
  vocabulary.merges.clear();
  gguf::Writer writer = write_all_but(vocabulary, "");
  writer.add_array("tokenizer.ggml.merges", std::vector<std::string>{});
  expect_parts(message_of(create_tokenizer(writer)), {"byte 32"});
}

TEST(Vocab, SpecialIdsOutsideTheVocabularyAreRefused) {
  for (const char* name : {"bos_token_id", "eos_token_id", "eot_token_id", "eom_token_id",
                           "unknown_token_id", "padding_token_id"}) {
    const std::string key = std::string("tokenizer.ggml.") + name;
    for (const uint32_t id : {512u, 4294967295u}) {
      auto made = TinyVocabulary::of("llama-spm").create([&](gguf::Writer& writer) {
        writer.add(key, id);
      });
      expect_parts(message_of(made), {key, std::to_string(id), "0 to 511"});
    }
  }
}

TEST(Vocab, DoubledTextsUnknownTypesAndNanScoresAreNamed) {
  TinyVocabulary doubled = TinyVocabulary::of("llama-spm");
  doubled.tokens[400] = doubled.tokens[300];
  expect_parts(message_of(doubled.create()), {"300", "400", "same text"});
  TinyVocabulary type = TinyVocabulary::of("llama-spm");
  type.types[7] = 9;
  expect_parts(message_of(type.create()), {"tokenizer.ggml.token_type", "entry 7", "9"});
  TinyVocabulary score = TinyVocabulary::of("llama-spm");
  score.scores[8] = std::numeric_limits<float>::quiet_NaN();
  expect_parts(message_of(score.create()), {"tokenizer.ggml.scores", "entry 8"});
}

TEST(Vocab, MergesThatMeanNothingAreNamed) {
  for (const char* merge :
       {"nospace", "", " ", "a ", "zzzzzz a", "a zzzzzz", "\xC4\x80 \xC4\x80"}) {
    TinyVocabulary vocabulary = TinyVocabulary::of("gpt2");
    vocabulary.merges[3] = merge;
    expect_parts(message_of(vocabulary.create()),
                 {"tokenizer.ggml.merges", "entry 3", std::string("'") + merge + "'"});
  }
}

TEST(Vocab, AMessageStaysOneShortLineWhateverTheTextHolds) {
  TinyVocabulary doubled = TinyVocabulary::of("llama-spm");
  doubled.tokens[300] = doubled.tokens[400] = "a\nb\x1B[31m" + std::string(1000, 'x');
  TinyVocabulary merge = TinyVocabulary::of("gpt2");
  merge.merges[3] = "a\n" + std::string(1000, 'x');
  TinyVocabulary pre = TinyVocabulary::of("gpt2");
  pre.pre = "\n" + std::string(1000, 'x');
  for (const TinyVocabulary& vocabulary : {doubled, merge, pre}) {
    const std::string message = message_of(vocabulary.create());
    EXPECT_LT(message.size(), 1000U);
    EXPECT_NE(message.find("\\x0a"), std::string::npos) << message;
    for (const char c : message) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << message;
  }
}

// Their texts are looked for in every input: what that costs is bounded.
TEST(Vocab, SpecialTokensOfMoreThanAMegabyteAreRefused) {
  TinyVocabulary vocabulary = TinyVocabulary::of("llama-spm");
  vocabulary.types[400] = static_cast<int32_t>(TokenType::kUserDefined);
  vocabulary.tokens[400] = std::string(1 << 19, 'x');
  EXPECT_TRUE(vocabulary.create().ok());
  vocabulary.tokens[400] = std::string(1 << 21, 'x');
  expect_parts(message_of(vocabulary.create()), {"special tokens", "1048576", "entry 400"});
}

TEST(Vocab, BosThatIsToBeAddedMustBeNamed) {
  TinyVocabulary vocabulary = TinyVocabulary::of("gpt2");
  auto made = vocabulary.create(
      [](gguf::Writer& writer) { writer.add("tokenizer.ggml.add_bos_token", true); });
  expect_parts(message_of(made), {"tokenizer.ggml.add_bos_token", "tokenizer.ggml.bos_token_id"});
}

}  // namespace
}  // namespace pawl::text
