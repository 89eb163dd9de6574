// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pawl::base {
namespace {

TEST(Json, WhatIsReadIsWrittenBackInOrder) {
  const std::string text =
      R"({"b": 1, "a": [true, false, null, -2, 0.5, 1e+300], "é": "q\"\\\n\u0001"})";
  auto value = parse_json(text);
  ASSERT_TRUE(value.ok()) << value.error().message;
  EXPECT_EQ(value->dump(), text);
}

TEST(Json, IntegersKeepEveryDigit) {
  auto value = parse_json("[9223372036854775807, -9223372036854775808, 18446744073709551615]");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ((*value->as_array())[0].to_int64(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ((*value->as_array())[1].to_int64(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ((*value->as_array())[2].to_int64(), std::nullopt);
  EXPECT_EQ((*value->as_array())[2].to_uint64(), std::numeric_limits<uint64_t>::max());
}

TEST(Json, ADoubleIsNoInteger) {
  EXPECT_EQ(parse_json("1.0")->to_int64(), std::nullopt);
  EXPECT_EQ(parse_json("1.0")->to_double(), 1.0);
}

TEST(Json, DepthIsLimitedWhileParsing) {
  for (const char* bracket : {"[", "{\"a\":"}) {
    std::string deep;
    for (int i = 0; i < 100000; ++i) deep += bracket;
    auto value = parse_json(deep);
    ASSERT_FALSE(value.ok());
    EXPECT_EQ(value.error().message, "nested deeper than 128");
  }
  EXPECT_TRUE(parse_json(std::string(128, '[') + std::string(128, ']')).ok());
}

TEST(Json, ADoubledKeyIsRefusedByName) {
  auto value = parse_json(R"({"x": {"seed": 1, "seed": 2}})");
  ASSERT_FALSE(value.ok());
  EXPECT_NE(value.error().message.find("'seed'"), std::string::npos);
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const char* text :
       {"", " ", "{", "[1,]", "{\"a\":1,}", "nul", "01", "1 2", "// c\n1", "'a'", "\"\xff\"",
        "\"\xed\xa0\x80\"", "\"\x01\"", "NaN", "1e999", "\"\\ud800\""}) {
    EXPECT_FALSE(parse_json(text).ok()) << text;
  }
}

TEST(Json, SizeIsLimited) {
  EXPECT_FALSE(parse_json("[1, 2, 3]", {.bytes = 8}).ok());
  EXPECT_TRUE(parse_json("[1, 2, 3]", {.bytes = 9}).ok());
}

TEST(Json, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  EXPECT_EQ(Json("a\xe2\x82z").dump(), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(Json("\xed\xa0\x80").dump(), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(Json("\xf0\x9f\x92\xa9").dump(), "\"\xf0\x9f\x92\xa9\"");
}

TEST(Json, NoValueIsNull) {
  EXPECT_EQ(Json(std::optional<double>()).dump(), "null");
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  EXPECT_EQ(Json(-std::numeric_limits<float>::infinity()).dump(), "null");
}

TEST(Json, ObjectsAreBuiltByName) {
  Json value;
  value["name"] = "x";
  value["list"].push_back(1);
  value["list"].push_back("two");
  value["name"] = "y";
  EXPECT_EQ(value.dump(), R"({"name": "y", "list": [1, "two"]})");
  EXPECT_EQ(value.find("missing"), nullptr);
}

}  // namespace
}  // namespace pawl::base
