// SPDX-License-Identifier: Apache-2.0
#include "gguf/metadata.h"

#include <gtest/gtest.h>

#include <ctime>
#include <limits>

#include "gguf/reader.h"
#include "gguf/writer.h"

namespace pawl::gguf {
namespace {

using base::ErrorCode;

// Bytes and the file opened from them.
struct Opened {
  std::vector<std::byte> bytes;
  base::Result<std::shared_ptr<const File>> file;

  explicit Opened(const Writer& writer) : bytes(writer.bytes()), file(open_bytes(bytes)) {}
  const Metadata& metadata() const { return (*file)->metadata(); }
  std::string error() const { return file.ok() ? "" : file.error().message; }
};

template <typename T>
std::string message(const base::Result<T>& result) {
  return result.ok() ? "(no error)" : result.error().message;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::vector<std::byte> kNothing;

TEST(Metadata, EveryTypeIsReadBackAndDescribed) {
  Writer writer;
  writer.add("u8", uint8_t{200});
  writer.add("i8", int8_t{-100});
  writer.add("u16", uint16_t{60000});
  writer.add("i16", int16_t{-30000});
  writer.add("u32", uint32_t{4000000000});
  writer.add("i32", int32_t{-2000000000});
  writer.add("u64", uint64_t{18000000000000000000U});
  writer.add("i64", int64_t{-9000000000000000000});
  writer.add("f32", 0.5F);
  writer.add("f64", 0.1);
  writer.add("bool", true);
  writer.add("string", "tab\tand \"quotes\" \xC3\xA4");
  writer.add_array("floats", std::vector<float>{1.5F, -2.0F});
  writer.add_array("bools", std::vector<bool>{true, false});
  writer.add_array("strings", std::vector<std::string>{"a", "", "ccc"});
  const Opened opened(writer);
  ASSERT_TRUE(opened.file.ok()) << opened.error();
  const Metadata& metadata = opened.metadata();

  const std::pair<const char*, const char*> expected[] = {
      {"u8", "200"},
      {"i8", "-100"},
      {"u16", "60000"},
      {"i16", "-30000"},
      {"u32", "4000000000"},
      {"i32", "-2000000000"},
      {"u64", "18000000000000000000"},
      {"i64", "-9000000000000000000"},
      {"f32", "0.5"},
      {"f64", "0.1"},
      {"bool", "true"},
      {"string", "\"tab\\tand \\\"quotes\\\" \xC3\xA4\""},
      {"floats", "[1.5, -2] (2 float32)"},
      {"bools", "[true, false] (2 bool)"},
      {"strings", "[\"a\", \"\", ...] (3 string)"},
  };
  ASSERT_EQ(metadata.entries().size(), std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(metadata.entries()[i].key, expected[i].first);
    EXPECT_EQ(describe(metadata.entries()[i].value, 2), expected[i].second);
  }
  EXPECT_EQ(*metadata.get_u64("u64"), 18000000000000000000U);
  EXPECT_EQ(*metadata.get_f32("f32"), 0.5F);
  EXPECT_EQ(*metadata.get_f32("f64"), 0.1F);
  EXPECT_EQ(*metadata.get_bool("bool"), true);
  const auto floats = metadata.get_f32_array("floats");
  ASSERT_TRUE(floats.ok());
  EXPECT_EQ((*floats)[1], -2.0F);
  const auto strings = metadata.get_string_array("strings");
  ASSERT_TRUE(strings.ok());
  EXPECT_EQ(std::vector<std::string>(strings->begin(), strings->end()),
            (std::vector<std::string>{"a", "", "ccc"}));
}

TEST(Metadata, AnyIntegerThatFitsServes) {
  Writer writer;
  writer.add("u8", uint8_t{7});
  writer.add("i64", int64_t{7});
  writer.add("u64", uint64_t{7});
  writer.add("negative", int32_t{-1});
  writer.add("large", uint64_t{1} << 32);
  writer.add("float", 7.0F);
  writer.add("bool", true);
  writer.add_array("array", std::vector<uint32_t>{7});
  const Opened opened(writer);
  ASSERT_TRUE(opened.file.ok()) << opened.error();
  const Metadata& metadata = opened.metadata();
  for (const char* key : {"u8", "i64", "u64"}) {
    const auto number = metadata.get_u32(key);
    ASSERT_TRUE(number.ok()) << message(number);
    EXPECT_EQ(*number, 7U);
  }
  EXPECT_EQ(message(metadata.get_u32("negative")), "key 'negative': value -1, wanted uint32");
  EXPECT_EQ(message(metadata.get_u32("large")), "key 'large': value 4294967296, wanted uint32");
  EXPECT_EQ(message(metadata.get_u32("float")), "key 'float': type float32, wanted uint32");
  EXPECT_EQ(message(metadata.get_u32("bool")), "key 'bool': type bool, wanted uint32");
  EXPECT_EQ(message(metadata.get_u32("array")),
            "key 'array': type array of 1 uint32, wanted uint32");
}

TEST(Metadata, AMissingKeyIsNotFoundAndAFallbackHidesNoWrongType) {
  Writer writer;
  writer.add("text", "hello");
  const Opened opened(writer);
  ASSERT_TRUE(opened.file.ok());
  const Metadata& metadata = opened.metadata();
  const auto missing = metadata.get_u32("absent");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "key 'absent' is missing");
  EXPECT_EQ(*metadata.get_u32_or("absent", 5), 5U);
  EXPECT_EQ(*metadata.get_f32_or("absent", 0.5F), 0.5F);
  EXPECT_EQ(*metadata.get_bool_or("absent", true), true);
  EXPECT_EQ(*metadata.get_string_or("absent", "x"), "x");
  EXPECT_EQ(*metadata.get_string_or("text", "x"), "hello");
  EXPECT_EQ(message(metadata.get_u32_or("text", 5)), "key 'text': type string, wanted uint32");
  EXPECT_EQ(metadata.find("absent"), nullptr);
}

TEST(Metadata, ADoubleThatNoFloatHoldsIsAnError) {
  Writer writer;
  writer.add("x", 1e300);
  const Opened opened(writer);
  ASSERT_TRUE(opened.file.ok());
  EXPECT_EQ(message(opened.metadata().get_f32("x")), "key 'x': value 1e+300, wanted float32");
}

TEST(Metadata, S054_AnArrayOfAnyOtherElementTypeIsRefusedWithFoundAndWanted) {
  constexpr ValueType kAll[] = {ValueType::kUint8,   ValueType::kInt8,    ValueType::kUint16,
                                ValueType::kInt16,   ValueType::kUint32,  ValueType::kInt32,
                                ValueType::kUint64,  ValueType::kInt64,   ValueType::kBool,
                                ValueType::kFloat32, ValueType::kFloat64, ValueType::kString};
  for (const ValueType element : kAll) {
    // 32 zero bytes: four empty strings, or 4 numbers of whatever width and bytes to spare.
    const size_t bytes = element == ValueType::kString || element == ValueType::kUint64 ||
                                 element == ValueType::kInt64 || element == ValueType::kFloat64
                             ? 32
                         : element == ValueType::kUint32 || element == ValueType::kInt32 ||
                                 element == ValueType::kFloat32
                             ? 16
                         : element == ValueType::kUint16 || element == ValueType::kInt16 ? 8
                                                                                         : 4;
    Writer writer;
    writer.add_raw_array("tokenizer.ggml.scores", element, 4, std::vector<std::byte>(bytes));
    const Opened opened(writer);
    ASSERT_TRUE(opened.file.ok()) << opened.error();
    const Metadata& metadata = opened.metadata();
    const std::string found = "key 'tokenizer.ggml.scores': type array of 4 " +
                              std::string(value_type_name(element)) + ", wanted array of ";
    if (element != ValueType::kFloat32) {
      EXPECT_EQ(message(metadata.get_f32_array("tokenizer.ggml.scores")), found + "float32");
    }
    if (element != ValueType::kString) {
      EXPECT_EQ(message(metadata.get_string_array("tokenizer.ggml.scores")), found + "string");
    }
    if (element != ValueType::kInt32 && element != ValueType::kUint32) {
      EXPECT_EQ(message(metadata.get_i32_array("tokenizer.ggml.scores")), found + "int32");
    }
  }
}

TEST(Metadata, AnArrayOfUint32ServesAsInt32OnlyIfAllFit) {
  Writer writer;
  writer.add_array("fits", std::vector<uint32_t>{1, 2147483647});
  writer.add_array("not", std::vector<uint32_t>{1, 2147483648});
  const Opened opened(writer);
  ASSERT_TRUE(opened.file.ok());
  EXPECT_EQ((*opened.metadata().get_i32_array("fits"))[1], 2147483647);
  EXPECT_EQ(message(opened.metadata().get_i32_array("not")),
            "key 'not': element 1: value 2147483648, wanted int32");
}

TEST(Metadata, PerLayerValuesAreOneNumberOrOnePerLayer) {
  Writer writer;
  writer.add("one", uint16_t{4});
  writer.add_array("many", std::vector<int32_t>{2, 0, 3});
  writer.add_array("flags", std::vector<bool>{true, false, true});
  writer.add_array("negative", std::vector<int32_t>{2, -1, 3});
  writer.add_array("texts", std::vector<std::string>{"a", "b", "c"});
  const Opened opened(writer);
  ASSERT_TRUE(opened.file.ok());
  const Metadata& metadata = opened.metadata();
  EXPECT_EQ(*metadata.get_u32_per_layer("one", 3), (std::vector<uint32_t>{4, 4, 4}));
  EXPECT_EQ(*metadata.get_u32_per_layer("many", 3), (std::vector<uint32_t>{2, 0, 3}));
  EXPECT_EQ(*metadata.get_u32_per_layer("flags", 3), (std::vector<uint32_t>{1, 0, 1}));
  EXPECT_EQ(message(metadata.get_u32_per_layer("many", 4)),
            "key 'many': type array of 3 int32, wanted uint32 or array of 4 uint32");
  EXPECT_EQ(message(metadata.get_u32_per_layer("texts", 3)),
            "key 'texts': type array of 3 string, wanted uint32 or array of 3 uint32");
  EXPECT_EQ(message(metadata.get_u32_per_layer("negative", 3)),
            "key 'negative': value -1, wanted uint32");
}

TEST(Metadata, S056_ALayerCountFromTheFileAsksForNoLargeAllocation) {
  Writer writer;
  writer.add("one", uint32_t{4});
  const Opened opened(writer);
  ASSERT_TRUE(opened.file.ok());
  EXPECT_EQ(message(opened.metadata().get_u32_per_layer("one", 4294967295U)),
            "key 'one': wanted for 4294967295 layers, limit 65536");
  EXPECT_TRUE(opened.metadata().get_u32_per_layer("one", 0)->empty());
}

TEST(Metadata, ADoubledOrEmptyKeyIsRefused) {
  Writer twice;
  twice.add("general.name", "a");
  twice.add("other", uint32_t{1});
  twice.add("general.name", "b");
  EXPECT_EQ(Opened(twice).error(), "key 'general.name' is there twice");
  Writer empty;
  empty.add("", uint32_t{1});
  EXPECT_EQ(Opened(empty).error(), "metadata key 0 is empty");
}

TEST(Metadata, ABoolIsZeroOrOne) {
  const std::vector<std::byte> two{std::byte{2}};
  Writer scalar;
  scalar.add_raw("b", ValueType::kBool, two);
  EXPECT_EQ(Opened(scalar).error(), "key 'b': bool stored as 2, must be 0 or 1");
  Writer array;
  array.add_raw_array("b", ValueType::kBool, 1, two);
  EXPECT_EQ(Opened(array).error(), "key 'b': bool stored as 2, must be 0 or 1");
}

TEST(Metadata, UnknownTypesAreNamedByNumber) {
  Writer scalar;
  scalar.add_raw("x", static_cast<ValueType>(13), std::vector<std::byte>(8));
  EXPECT_EQ(Opened(scalar).error(), "key 'x': unknown value type 13");
  Writer array;
  array.add_raw_array("x", static_cast<ValueType>(99), 1, std::vector<std::byte>(8));
  EXPECT_EQ(Opened(array).error(), "key 'x': unknown element type 99");
}

TEST(Metadata, CountsBeyondTheFileAreRefusedForEveryElementType) {
  for (uint32_t type = 0; type <= 12; ++type) {
    for (const uint64_t count : {uint64_t{40}, uint64_t{1} << 32, uint64_t{1} << 61,
                                 (uint64_t{1} << 62) + 1, ~uint64_t{0}}) {
      Writer writer;
      writer.add_raw_array("key", static_cast<ValueType>(type), count, kNothing);
      const std::string error = Opened(writer).error();
      EXPECT_TRUE(has(error, "key 'key': the file ends inside ")) << type << " " << error;
    }
  }
}

// An array of `levels` arrays inside each other, the innermost of two bytes.
std::vector<std::byte> nested(int levels) {
  Writer writer;
  std::vector<std::byte> payload{std::byte{4}, std::byte{2}};
  auto element = ValueType::kUint8;
  uint64_t count = 2;
  for (int i = 1; i < levels; ++i) {
    std::vector<std::byte> outer(12);
    std::memcpy(outer.data(), &element, 4);
    std::memcpy(outer.data() + 4, &count, 8);
    outer.insert(outer.end(), payload.begin(), payload.end());
    payload = outer;
    element = ValueType::kArray;
    count = 1;
  }
  writer.add_raw_array("nested", element, count, payload);
  return writer.bytes();
}

TEST(Metadata, ArraysOfArraysAreReadToABoundedDepth) {
  const auto shallow = nested(kMaxArrayDepth);
  const auto file = open_bytes(shallow);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(describe((*file)->metadata().entries()[0].value),
            "[[[[4, 2] (2 uint8)] (1 array)] (1 array)] (1 array)");
  EXPECT_EQ(message(open_bytes(nested(kMaxArrayDepth + 1))),
            "key 'nested': arrays inside arrays more than 4 deep");
  EXPECT_EQ(message(open_bytes(nested(5000))),
            "key 'nested': arrays inside arrays more than 4 deep");
}

TEST(Metadata, ForeignNamesStayOnOneLineOfAscii) {
  Writer writer;
  const std::string key = "a\nb\x01\xff" + std::string(300, 'x');
  writer.add_raw(key, static_cast<ValueType>(77), kNothing);
  const std::string error = Opened(writer).error();
  EXPECT_TRUE(has(error, "key 'a\\x0ab\\x01\\xffxxx")) << error;
  EXPECT_TRUE(has(error, "...': unknown value type 77") || has(error, "...'")) << error;
  EXPECT_LT(error.size(), 200U);
}

TEST(Metadata, ATextIsCutBetweenCharacters) {
  std::string text(159, 'x');
  text += "\xE2\x82\xAC tail";  // the euro sign lies across the cut
  Writer writer;
  writer.add("t", text);
  const Opened opened(writer);
  ASSERT_TRUE(opened.file.ok());
  EXPECT_EQ(describe(opened.metadata().entries()[0].value), "\"" + std::string(159, 'x') + "...\"");
}

TEST(Metadata, S057_AVocabularyOf262144EntriesAndAsManyMergesOpensInMilliseconds) {
  constexpr size_t kEntries = 262144;
  std::vector<std::string> texts(kEntries);
  for (size_t i = 0; i < kEntries; ++i) texts[i] = "token-" + std::to_string(i);
  Writer writer;
  writer.add_array("tokenizer.ggml.tokens", texts);
  writer.add_array("tokenizer.ggml.merges", texts);
  writer.add_array("tokenizer.ggml.scores", std::vector<float>(kEntries, -1.0F));
  writer.add_array("tokenizer.ggml.token_type", std::vector<int32_t>(kEntries, 1));
  const std::vector<std::byte> bytes = writer.bytes();

  const std::clock_t start = std::clock();  // of this process: a busy machine does not count
  const auto file = open_bytes(bytes);
  const double took_ms = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  ASSERT_TRUE(file.ok()) << file.error().message;
  RecordProperty("open_ms", std::to_string(took_ms));
  // One or two milliseconds; loose for sanitizers.
  EXPECT_LT(took_ms, 100.0);

  const auto read = (*file)->metadata().get_string_array("tokenizer.ggml.tokens");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->size(), kEntries);
  size_t at = 0;
  for (const std::string_view text : *read) ASSERT_EQ(text, texts[at++]);
  EXPECT_EQ(at, kEntries);
}

}  // namespace
}  // namespace pawl::gguf
