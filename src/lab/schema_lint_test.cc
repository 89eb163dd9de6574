// SPDX-License-Identifier: Apache-2.0
// What is said of schemas, and the schemas proposed in their place, written down by hand.
#include "lab/schema_lint.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pawl::lab {
namespace {

using base::Json;

Json json(std::string_view text) {
  auto value = base::parse_json(text);
  EXPECT_TRUE(value.ok()) << text;
  return std::move(value).value();
}

// `properties`, all required, no others: only what a test is about is to be found.
Json object_of(const std::string& properties) {
  Json schema = json(R"({"type":"object","properties":)" + properties + "}");
  schema["required"] = Json::array();
  for (const auto& [name, value] : *schema.find("properties")->as_object()) {
    schema["required"].push_back(name);
  }
  schema["additionalProperties"] = false;
  return schema;
}

Lint lint(const Json& schema, std::span<const Json> answers = {}) {
  auto result = lint_schema(schema, answers);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return std::move(result).value();
}

std::vector<std::string> rules(const Lint& lint) {
  std::vector<std::string> names;
  for (const LintFinding& one : lint.findings)
    names.push_back(one.rule + ": " + shown_path(one.path));
  return names;
}

std::vector<std::string> names_of(const Json& schema) {
  std::vector<std::string> names;
  for (const auto& [name, value] : *schema.find("properties")->as_object()) names.push_back(name);
  return names;
}

using Names = std::vector<std::string>;

TEST(SchemaLint, AScoreBeforeItsReasoningIsMovedBehindIt) {
  const Lint found = lint(object_of(
      R"({"item":{"type":"string","maxLength":20},"score":{"type":"integer","minimum":1,"maximum":5},
          "label":{"enum":["a","b"]},"reasoning":{"type":"string","maxLength":300}})"));
  ASSERT_EQ(rules(found), Names{"verdict before reasoning: score"});
  EXPECT_NE(found.findings[0].text.find("'score' and 'label' before 'reasoning'"),
            std::string::npos);
  EXPECT_NE(found.findings[0].text.find("the cost of both with the quality of neither"),
            std::string::npos);
  EXPECT_EQ(names_of(found.findings[0].schema), (Names{"reasoning", "item", "score", "label"}));
  EXPECT_EQ(names_of(found.proposed), (Names{"reasoning", "item", "score", "label"}));
}

TEST(SchemaLint, ReasoningBeforeTheScoreIsInOrder) {
  EXPECT_EQ(rules(lint(object_of(
                R"({"reasoning":{"type":"string","maxLength":300},
                    "score":{"type":"integer","minimum":1,"maximum":5}})"))),
            Names{});
}

// A price is read out of the prompt: nothing is decided about it.
TEST(SchemaLint, ANumberThatIsNoVerdictMayStandBeforeReasons) {
  EXPECT_EQ(rules(lint(object_of(
                R"({"price":{"type":"number"},"why":{"type":"string","maxLength":90}})"))),
            Names{});
}

TEST(SchemaLint, NamesOfSeveralWordsAreReadByWord) {
  const Lint found = lint(object_of(
      R"({"isApproved":{"type":"boolean"},"short_rationale":{"type":"string","maxLength":80}})"));
  EXPECT_EQ(rules(found).front(), "verdict before reasoning: isApproved");
}

TEST(SchemaLint, LongTextBeforeADecisionGoesLast) {
  const Lint found = lint(object_of(
      R"({"reply":{"type":"string","maxLength":500},"urgent":{"type":"boolean"},
          "team":{"enum":["a","b"]}})"));
  ASSERT_EQ(rules(found), Names{"long text before decision: reply"});
  EXPECT_EQ(names_of(found.proposed), (Names{"urgent", "team", "reply"}));
}

TEST(SchemaLint, StringsAndArraysWithoutABoundGetOne) {
  const Lint found = lint(object_of(
      R"({"name":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},
          "day":{"type":"string","format":"date"},"code":{"type":"string","pattern":"^[a-z]{3}$"}})"));
  EXPECT_EQ(rules(found),
            (Names{"unbounded string: name", "unbounded string: tags", "unbounded array: tags"}));
  const Json& tags = *found.proposed.find("properties")->find("tags");
  EXPECT_EQ(tags.find("maxItems")->to_int64(), 5);
  EXPECT_EQ(tags.find("items")->find("maxLength")->to_int64(), 200);
  EXPECT_EQ(found.proposed.find("properties")->find("name")->find("maxLength")->to_int64(), 200);
  // One finding's schema has its own change alone.
  EXPECT_EQ(found.findings[0].schema.find("properties")->find("tags")->find("maxItems"), nullptr);
}

TEST(SchemaLint, BoundsLeaveTwiceTheRoomThatAnswersTook) {
  const Json schema = object_of(R"({"name":{"type":"string"},"tags":{"type":"array",
      "items":{"enum":["a","b"]}}})");
  const std::vector<Json> answers = {json(R"({"name":"twelve chars","tags":["a"]})"),
                                     json(R"({"name":"x","tags":["a","b","a"]})")};
  const Json proposed = lint(schema, answers).proposed;
  EXPECT_EQ(proposed.find("properties")->find("name")->find("maxLength")->to_int64(), 30);
  EXPECT_EQ(proposed.find("properties")->find("tags")->find("maxItems")->to_int64(), 6);
}

TEST(SchemaLint, AnObjectThatMayHoldMoreIsClosed) {
  const Lint found = lint(json(
      R"({"type":"object","required":["a","o"],"properties":{"a":{"type":"boolean"},
          "o":{"type":"object","properties":{"b":{"type":"boolean"}},"required":["b"]}}})"));
  ASSERT_EQ(rules(found), (Names{"open object: ", "open object: o"}));
  EXPECT_EQ(found.proposed.find("additionalProperties")->to_bool(), false);
  EXPECT_EQ(found.proposed.find("properties")->find("o")->find("additionalProperties")->to_bool(),
            false);
}

TEST(SchemaLint, AnOptionalFieldThatIsAlwaysThereIsNone) {
  Json schema = object_of(R"({"a":{"type":"boolean"},"b":{"type":"boolean"}})");
  schema["required"] = Json::array_of({"a"});
  std::vector<Json> answers(10, json(R"({"a":true,"b":false})"));
  EXPECT_EQ(rules(lint(schema)), Names{});  // nobody knows without answers
  EXPECT_EQ(rules(lint(schema, std::span(answers).first(9))), Names{});
  const Lint found = lint(schema, answers);
  ASSERT_EQ(rules(found), Names{"optional, always filled: b"});
  EXPECT_NE(found.findings[0].text.find("10 of 10"), std::string::npos);
  EXPECT_EQ(found.proposed.find("required")->as_array()->size(), 2);
  answers[3] = json(R"({"a":true})");
  EXPECT_EQ(rules(lint(schema, answers)), Names{});
}

TEST(SchemaLint, ANameLongerThanAnyValueIsShortened) {
  const Lint found = lint(object_of(
      R"({"customer_sentiment":{"enum":["good","bad"]},"is_replaceable_item":{"type":"boolean"},
          "description":{"type":"string","maxLength":90}})"));
  ASSERT_EQ(rules(found), (Names{"name longer than value: customer_sentiment",
                                 "name longer than value: is_replaceable_item"}));
  EXPECT_NE(found.findings[0].text.find("18 characters of name for at most 6 of value"),
            std::string::npos);
  EXPECT_EQ(names_of(found.proposed), (Names{"sentiment", "item", "description"}));
  EXPECT_EQ(found.proposed.find("required")->dump(),
            json(R"(["sentiment","item","description"])").dump());
}

TEST(SchemaLint, AllProposalsStandTogether) {
  const Lint found = lint(json(
      R"({"type":"object","properties":{"final_score":{"type":"integer","minimum":1,"maximum":5},
          "reasoning":{"type":"string"}},"required":["final_score","reasoning"]})"));
  ASSERT_EQ(rules(found),
            (Names{"verdict before reasoning: final_score", "unbounded string: reasoning",
                   "open object: ", "name longer than value: final_score"}));
  EXPECT_EQ(names_of(found.proposed), (Names{"reasoning", "score"}));
  EXPECT_EQ(found.proposed.find("properties")->find("reasoning")->find("maxLength")->to_int64(),
            200);
  EXPECT_EQ(rules(lint(found.proposed)), Names{});
}

TEST(SchemaLint, ReferencesAndOptionalBranchesAreFollowed) {
  const Json schema = json(
      R"({"$ref":"#/$defs/Review","$defs":{
          "Review":{"type":"object","additionalProperties":false,"required":["score","why"],"properties":{
            "score":{"$ref":"#/$defs/Score"},"why":{"anyOf":[{"type":"string"},{"type":"null"}]}}},
          "Score":{"type":"integer","minimum":1,"maximum":5}}})");
  const Lint found = lint(schema);
  ASSERT_EQ(rules(found), (Names{"verdict before reasoning: score", "unbounded string: why"}));
  EXPECT_EQ(names_of(found.proposed), (Names{"why", "score"}));
  const Json& why = *found.proposed.find("properties")->find("why");
  EXPECT_EQ((*why.find("anyOf")->as_array())[0].find("maxLength")->to_int64(), 200);
  EXPECT_NE(found.proposed.find("$defs"), nullptr);
}

TEST(SchemaLint, WhatIsNoSchemaOfAnObjectIsSaid) {
  EXPECT_FALSE(lint_schema(json(R"({"type":"string"})")).ok());
  EXPECT_FALSE(lint_schema(json("[]")).ok());
  EXPECT_FALSE(lint_schema(json(R"({"$ref":"#/no"})")).ok());
  EXPECT_FALSE(lint_schema(json(R"({"$ref":"#"})")).ok());
}

TEST(SchemaFields, AFieldIsLeftOutOfItsObjectAndOfNothingElse) {
  const Json schema = json(
      R"({"type":"object","required":["a","o"],"properties":{"a":{"type":"string"},
          "o":{"type":"object","required":["a","b"],"properties":{"a":{"type":"string"},"b":{}}}}})");
  const auto less = without_field(schema, {"o", "a"});
  ASSERT_TRUE(less.ok());
  EXPECT_EQ(names_of(*less), (Names{"a", "o"}));
  EXPECT_EQ(names_of(*less->find("properties")->find("o")), Names{"b"});
  EXPECT_EQ(less->find("properties")->find("o")->find("required")->dump(), json(R"(["b"])").dump());
  EXPECT_FALSE(without_field(*less, {"o", "b"}).ok());  // the last
  EXPECT_FALSE(without_field(schema, {"x"}).ok());
  EXPECT_FALSE(without_field(schema, {"o", "x"}).ok());
}

TEST(SchemaFields, ItemsOfArraysAreChangedInPlace) {
  const Json schema = json(
      R"({"type":"object","properties":{"l":{"type":"array","items":{"$ref":"#/$defs/i"}},
          "one":{"$ref":"#/$defs/i"}},
          "$defs":{"i":{"type":"object","properties":{"a":{},"b":{}}}}})");
  const auto less = without_field(schema, {"l", "a"});
  ASSERT_TRUE(less.ok()) << less.error().message;
  EXPECT_EQ(names_of(*less->find("properties")->find("l")->find("items")), Names{"b"});
  // The other user of the definition keeps it whole.
  EXPECT_EQ(names_of(*less->find("$defs")->find("i")), (Names{"a", "b"}));
}

}  // namespace
}  // namespace pawl::lab
