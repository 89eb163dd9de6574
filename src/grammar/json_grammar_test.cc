// SPDX-License-Identifier: Apache-2.0
// Which texts a schema takes: objects, arrays, references, and what several keywords say together.
// The expectations are those of the standard.
#include "grammar/json_grammar.h"

#include <fmt/format.h>

#include "grammar/schema_for_test.h"

namespace pawl::grammar {
namespace {

TEST(JsonGrammar, S069_AnyOfBesideProperties) {
  Compact::schema(R"({"type":"object","properties":{"id":{"type":"integer"}},
                      "additionalProperties":false,"anyOf":[{"required":["id"]}]})")
      .expect({R"({"id":4})"}, {"[1,2]", "{}", R"({"q":0})", R"({"id":"1"})"});
}

TEST(JsonGrammar, S070_AllOfWithTwoObjects) {
  Compact::schema(R"({"allOf":[
      {"properties":{"h":{"type":"number"}},"required":["h"],"type":"object"},
      {"properties":{"w":{"type":"boolean"}},"required":["w"]}]})")
      .expect({R"({"h":1,"w":true})"}, {"7", R"({"h":1})", R"({"h":1,"w":2})"});
}

TEST(JsonGrammar, S071_PatternsBesideProperties) {
  Compact::schema(R"({"type":"object","properties":{"id":{"type":"string"}},"required":["id"],
                      "patternProperties":{"^n_":{"type":"integer"}}})")
      .expect({R"({"id":"k","n_a":1})", R"({"id":"k"})", R"({"id":"k","x":null})"},
              {R"({"n_a":1})", R"({"id":"k","n_a":"1"})", R"({"id":"k"} more)"});
}

TEST(JsonGrammar, S072_KeywordsOfArraysAreObeyedOrRefused) {
  Compact::schema(R"({"type":"array","contains":{"const":7}})")
      .expect({"[7]", "[1,7]", "[7,7,1]"}, {"[]", "[1]", "[77]"});
  Compact::schema(R"({"type":"array","contains":{"const":7},"minContains":2,"maxContains":2})")
      .expect({"[7,7]", "[1,7,2,7,3]"}, {"[7]", "[7,7,7]", "[]"});
  Compact::schema(R"({"type":"array","prefixItems":[{"const":1}],"items":{"const":2}})")
      .expect({"[]", "[1]", "[1,2]", "[1,2,2]"}, {"[2]", "[1,1]"});
  Compact::schema(R"({"prefixItems":[{"const":1}],"unevaluatedItems":false,"type":"array"})")
      .expect({"[]", "[1]"}, {"[1,2]"});
  Compact::schema(R"({"type":"array","minItems":2,"maxItems":3})")
      .expect({"[1,2]", "[1,2,3]"}, {"[1]", "[1,2,3,4]", "[]"});
}

TEST(JsonGrammar, S073_EnumerationBehindAReference) {
  for (const char* defs : {"$defs", "definitions"}) {
    const std::string unit = std::string("\"$ref\":\"#/") + defs + "/Unit\"";
    const std::string known = std::string("\"") + defs + R"(":{"Unit":{"$ref":"#/)" + defs +
                              R"(/Inner"},"Inner":{"enum":["km","mi"]}})";
    Compact::schema(R"({"type":"object","properties":{"unit":{)" + unit +
                    R"(}},"required":["unit"],)" + known + "}")
        .expect({R"({"unit":"km"})", R"({"unit":"mi"})"},
                {R"({"unit":{}})", R"({"unit":"m"})", "{}"});
    Compact::schema(R"({"type":"array","items":{)" + unit + "}," + known + "}")
        .expect({"[]", R"(["km","mi"])"}, {"[1]", R"(["k"])"});
  }
}

TEST(JsonGrammar, S074_TheEmptySchemaIsAnyValue) {
  for (const char* any : {"{}", "true"}) {
    Compact::schema(std::string(R"({"type":"object","properties":{"meta":)") + any +
                    R"(},"required":["meta"],"additionalProperties":false})")
        .expect({R"({"meta":"v"})", R"({"meta":1.5e3})", R"({"meta":null})",
                 R"({"meta":[[1],{"a":{}}]})", R"({"meta":{"x":[]}})"},
                {R"({"meta":})", "{}"});
  }
}

TEST(JsonGrammar, S075_NothingInside) {
  Compact::schema(R"({"type":"array","items":{},"maxItems":0})").expect({"[]"}, {"[1]"});
  Compact::schema(R"({"type":"object","properties":{},"additionalProperties":false})")
      .expect({"{}"}, {R"({"a":1})"});
  Compact::schema(R"({"type":"array","minItems":0})").expect({"[]", "[1]"}, {});
  Compact::schema(R"({"type":"string","maxLength":0})").expect({R"("")"}, {R"("a")"});
  Compact::schema(R"({"enum":["a"]})").expect({R"("a")"}, {"1"});
  Compact::schema(R"({"type":"object","maxProperties":0})").expect({"{}"}, {R"({"a":1})"});
}

TEST(JsonGrammar, S076_AnOptionalMemberIsNoExtraOne) {
  Compact::schema(R"({"type":"object","properties":{"mode":{"const":"fast"},
                      "size":{"const":"big"}},"required":["size"]})")
      .expect({R"({"mode":"fast","size":"big"})", R"({"size":"big"})", R"({"size":"big","x":1})"},
              {R"({"size":"big","mode":"WRONG"})", R"({"mode":"WRONG","size":"big"})",
               R"({"x":1,"mode":"WRONG","size":"big"})"});
}

TEST(JsonGrammar, S077_DeclaredMembersComeOnceAndInOrder) {
  Compact::schema(R"({"type":"object","properties":{"first":{"type":"integer"},
                      "last":{"type":"integer"}},"required":["first","last"],
                      "additionalProperties":false})")
      .expect({R"({"first":1,"last":2})"}, {R"({"first":1,"first":2})", R"({"last":2,"first":1})",
                                            R"({"first":1})", R"({"first":1,"last":2,"last":3})"});
}

TEST(JsonGrammar, S079_ExtraMembersAreNotDeclaredOnesInDisguise) {
  Compact::schema(R"({"type":"object","properties":{"k":{"type":"integer"}},
                      "additionalProperties":true})")
      .expect({R"({"kk":"x"})", R"({"":1})", R"({"k":1,"j":[]})"},
              {R"({"\u006b":"x"})", R"({"\":1})", "{\"a\nb\":1}", R"({"k":"x"})"});
}

TEST(JsonGrammar, S080_ReferencesByPointerAndAnchor) {
  for (const char* schema : {R"({"$ref":"#/$defs/x~1y","$defs":{"x/y":{"const":5}}})",
                             R"({"allOf":[{"const":5}],"$ref":"#/allOf/0"})",
                             R"({"$ref":"#part","$defs":{"p":{"$anchor":"part","const":5}}})",
                             R"({"$ref":"#/$defs/a%25b","$defs":{"a%b":{"const":5}}})"}) {
    Compact::schema(schema).expect({"5"}, {"6", "\"5\""});
  }
  EXPECT_NE(Compact::schema(R"({"$ref":"http://example.com/other"})").refusal.find("$ref"),
            std::string::npos);
  EXPECT_NE(Compact::schema(R"({"$ref":"#/$defs/none"})").refusal.find("names nothing"),
            std::string::npos);
}

TEST(JsonGrammar, S081_EscapedMembersAndDeepRecursion) {
  Compact::schema(R"({"type":"object","properties":{"say \"hi\"":{"type":"integer"}},
                      "required":["say \"hi\""]})")
      .expect({R"({"say \"hi\"":1})"}, {R"({"say "hi"":1})"});
  const Compact tree = Compact::schema(
      R"({"type":"object","properties":{"child":{"anyOf":[{"type":"null"},{"$ref":"#"}]}},
          "required":["child"],"additionalProperties":false})");
  for (const int depth : {1, 8, 100}) {
    std::string text = "null";
    for (int i = 0; i < depth; ++i) text = "{\"child\":" + text + "}";
    EXPECT_TRUE(tree.takes(text)) << depth;
  }
  EXPECT_FALSE(tree.takes(R"({"child":{}})"));
}

TEST(JsonGrammar, S082_WhatStandsBesideATypeUnionAndAReference) {
  Compact::schema(R"({"type":["string","null"],"maxLength":3})")
      .expect({"null", R"("abc")", R"("äöü")"}, {R"("abcd")", "1"});
  Compact::schema(R"({"$ref":"#/$defs/outer/X","$defs":{"outer":{"X":{"const":1}},
                      "X":{"const":2}}})")
      .expect({"1"}, {"2"});
}

TEST(JsonGrammar, S084_RefusedWithKeywordAndPathNeverWeakened) {
  const Compact refused = Compact::schema(
      R"j({"type":"object","properties":{"a":{"type":"string","pattern":"(a)\\1"}}})j");
  EXPECT_NE(refused.refusal.find("'pattern' at '/properties/a'"), std::string::npos)
      << refused.refusal;
  EXPECT_EQ(refused.where, "/properties/a");
  Compact::schema(R"({"type":"object","properties":{"b":{"not":{"type":"string"}}},
                      "required":["b"],"unevaluatedProperties":false})")
      .expect({R"({"b":1})", R"({"b":null})"}, {R"({"b":"x"})", R"({"b":1,"c":2})"});
  const Compact format = Compact::schema(R"({"type":"string","format":"made-up"})");
  ASSERT_EQ(format.notes.size(), 1u);
  EXPECT_NE(format.notes[0].find("made-up"), std::string::npos);
}

TEST(JsonGrammar, NegationAndExclusiveChoice) {
  Compact::schema(R"({"not":{"type":["array","object","string","null","boolean"]}})")
      .expect({"1", "-2.5", "1e3"}, {"\"\"", "null", "{}"});
  Compact::schema(R"({"type":"object","properties":{"a":{}},"not":{"required":["a"]}})")
      .expect({"{}", R"({"b":1})"}, {R"({"a":1})"});
  Compact::schema(R"({"type":"integer","oneOf":[{"minimum":5},{"maximum":9}]})")
      .expect({"4", "10", "-3"}, {"5", "7", "9"});
  Compact::schema(
      R"({"oneOf":[{"type":"object","properties":{"k":{"const":"a"},"x":{"type":"integer"}},
                      "required":["k"]},{"type":"object","properties":{"k":{"const":"b"},
                      "x":{"type":"string"}},"required":["k"]}]})")
      .expect({R"({"k":"a","x":1})", R"({"k":"b","x":"1"})"},
              {R"({"k":"a","x":"1"})", R"({"k":"c"})", "{}"});
  Compact::schema(R"({"type":"string","not":{"enum":["a","b"]}})")
      .expect({R"("c")", R"("ab")", R"("")"}, {R"("a")", R"("b")", "1"});
}

TEST(JsonGrammar, WhatIsRefutedEvaluatesNothing) {
  Compact::schema(R"({"properties":{"foo":{"type":"string"}},
      "not":{"not":{"properties":{"bar":{"const":"bar"}},"required":["bar"]}},
      "unevaluatedProperties":false})")
      .expect({"1"}, {R"({"foo":"foo","bar":"bar"})", R"({"foo":"foo"})"});
  Compact::schema(R"({"type":"array","prefixItems":[{"const":"foo"}],"anyOf":[
      {"prefixItems":[true,{"const":"bar"}]},{"prefixItems":[true,true,{"const":"baz"}]}],
      "unevaluatedItems":false})")
      .expect({R"(["foo","bar"])", R"(["foo","bar","baz"])", R"(["foo"])"},
              {R"(["foo","bar",42])", R"(["foo","x","baz","y"])"});
  Compact::schema(
      R"({"type":"array","if":{"prefixItems":[{"const":"a"}]},"unevaluatedItems":false})")
      .expect({"[]", R"(["a"])"}, {R"(["b"])", R"(["a","b"])"});
}

TEST(JsonGrammar, ConditionsAndDependencies) {
  Compact::schema(
      R"({"type":"object","properties":{"kind":{"enum":["a","b"]},"n":{"type":"integer"}},
                      "required":["kind"],"additionalProperties":false,
                      "if":{"properties":{"kind":{"const":"a"}}},"then":{"required":["n"]}})")
      .expect({R"({"kind":"a","n":1})", R"({"kind":"b"})", R"({"kind":"b","n":1})"},
              {R"({"kind":"a"})"});
  Compact::schema(R"({"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false,
                      "dependentRequired":{"a":["b"]}})")
      .expect({"{}", R"({"b":1})", R"({"a":1,"b":2})"}, {R"({"a":1})"});
  constexpr std::string_view kBoth = R"("dependentRequired":{"a":["b"]},
                      "dependentSchemas":{"b":{"properties":{"a":{"const":1}}}})";
  Compact::schema(fmt::format(R"({{"type":"object",{}}})", kBoth))
      .expect({"{}", R"({"b":1})", R"({"a":1,"b":2})"}, {R"({"a":1})", R"({"a":2,"b":2})"});
  Compact::schema(fmt::format(R"({{"type":"object","not":{{{}}}}})", kBoth))
      .expect({R"({"a":1})", R"({"b":2,"a":2})"}, {"{}", R"({"b":1})", R"({"a":1,"b":2})"});
}

// 2020-12 §8.2.3.2: the outermost resource on the way has the name.
TEST(JsonGrammar, ADynamicReferenceDependsOnTheWayToIt) {
  constexpr std::string_view kLists = R"("$defs":{
      "list":{"$id":"list","type":"array","items":{"$dynamicRef":"#item"},
              "$defs":{"any":{"$dynamicAnchor":"item"}}},
      "texts":{"$id":"texts","$ref":"list",
               "$defs":{"text":{"$dynamicAnchor":"item","type":"string"}}},
      "numbers":{"$id":"numbers","$ref":"list",
                 "$defs":{"number":{"$dynamicAnchor":"item","type":"number"}}}})";
  const auto with = [&](std::string_view way) {
    return fmt::format(R"({{"$id":"http://example.com/root",{},{}}})", way, kLists);
  };
  Compact::schema(with(R"("$ref":"texts")")).expect({R"(["a"])", "[]"}, {"[1]"});
  Compact::schema(with(R"("$ref":"numbers")")).expect({"[1]", "[]"}, {R"(["a"])"});
  Compact::schema(with(R"("$ref":"list")")).expect({R"([1,"a"])"}, {"1"});
  Compact::schema(with(R"("anyOf":[{"$ref":"texts"},{"$ref":"numbers"}])"))
      .expect({R"(["a","b"])", "[1,2]"}, {R"(["a",1])", "[null]"});
}

TEST(JsonGrammar, AReferenceBesideADynamicOne) {
  Compact::schema(R"({"$ref":"#/$defs/a","$dynamicRef":"#b","$defs":{"a":{"minimum":2},
                      "b":{"$dynamicAnchor":"b","type":"integer","maximum":4}}})")
      .expect({"2", "4"}, {"1", "5", "\"x\""});
}

// 2019-09 §8.2.4.2.1: a tree extended with a member is one all the way down.
TEST(JsonGrammar, ARecursiveReferenceLeadsToTheOutermost) {
  Compact::schema(R"({"$schema":"https://json-schema.org/draft/2019-09/schema",
      "$id":"http://example.com/strict","$recursiveAnchor":true,"$ref":"tree",
      "properties":{"data":{"type":"integer"}},"unevaluatedProperties":false,
      "$defs":{"tree":{"$id":"tree","$recursiveAnchor":true,"type":"object",
               "properties":{"child":{"$recursiveRef":"#"}}}}})")
      .expect({"{}", R"({"child":{"child":{},"data":2}})"},
              {R"({"child":{"date":1}})", R"({"child":{"data":"x"}})"});
}

TEST(JsonGrammar, APathInAReferenceMayStepBack) {
  Compact::schema(R"({"$id":"http://example.com/a/b/root.json","$ref":"../c/./one.json",
      "$defs":{"one":{"$id":"http://example.com/a/c/one.json","const":7}}})")
      .expect({"7"}, {"8"});
}

TEST(JsonGrammar, SeveralContainsForOneArray) {
  Compact::schema(R"({"type":"array","allOf":[{"contains":{"multipleOf":2}},
                      {"contains":{"multipleOf":3}}]})")
      .expect({"[2,3]", "[3,2]", "[6]", "[1,9,8]"}, {"[2]", "[3,9]", "[]"});
  Compact::schema(R"({"type":"array","contains":{"type":"integer","minimum":5},"maxContains":1,
                      "allOf":[{"contains":{"type":"string"},"minContains":2}]})")
      .expect({R"([7,"a","b"])", R"(["a",1,"b",9])"}, {R"([7])", R"([7,8,"a","b"])", R"([7,"a"])"});
}

// 2020-12 §11.2: what `contains` finds is evaluated, in 2019-09 it is not.
TEST(JsonGrammar, WhatContainsFindsIsEvaluated) {
  Compact::schema(R"({"type":"array","prefixItems":[true],"contains":{"type":"string"},
                      "unevaluatedItems":false})")
      .expect({R"([1,"a"])", R"(["a"])", R"([null,"a","b"])"}, {"[1]", R"([1,"a",2])"});
  Compact::schema(R"({"type":"array","contains":{"type":"string"},"minContains":0,
                      "unevaluatedItems":{"type":"integer"}})")
      .expect({"[]", R"([1,"a"])", "[2]"}, {"[null]"});
}

TEST(JsonGrammar, WhatIsLeftUnevaluatedAndMustNotHold) {
  Compact::schema(R"({"type":"object","not":{"properties":{"a":{"type":"integer"}},
                      "unevaluatedProperties":false}})")
      .expect({R"({"b":1})", R"({"a":"x"})", R"({"a":1,"b":2})"}, {"{}", R"({"a":1})"});
  Compact::schema(R"({"type":"array","not":{"prefixItems":[{"type":"integer"}],
                      "unevaluatedItems":{"type":"string"}}})")
      .expect({"[null]", "[1,2]"}, {"[]", "[1]", R"([1,"a"])"});
}

TEST(JsonGrammar, AContainsFarIntoALongArray) {
  EXPECT_TRUE(Compact::schema(R"({"type":"array","minItems":2000,"contains":{"const":1}})")
                  .refusal.empty());
}

TEST(JsonGrammar, MembersAreCountedAndNamed) {
  Compact::schema(R"({"type":"object","properties":{"a":{},"b":{},"c":{}},
                      "additionalProperties":false,"minProperties":1,"maxProperties":2})")
      .expect({R"({"a":1})", R"({"a":1,"c":2})", R"({"b":1})"}, {"{}", R"({"a":1,"b":2,"c":3})"});
  Compact::schema(R"({"type":"object","propertyNames":{"pattern":"^[a-z]+$"}})")
      .expect({"{}", R"({"abc":1})"}, {R"({"A":1})", R"({"":1})"});
  Compact::schema(R"({"type":"object","minProperties":2})")
      .expect({R"({"a":1,"b":1})"}, {"{}", R"({"a":1})"});
}

TEST(JsonGrammar, S106_WhatRefersToItselfWithoutEnd) {
  EXPECT_NE(Compact::schema(R"({"$ref":"#"})").refusal.find("refers to itself"), std::string::npos);
  EXPECT_NE(Compact::schema(R"({"type":"array","items":{"$ref":"#"},"minItems":1})")
                .refusal.find("no finite text"),
            std::string::npos);
  Compact::schema(R"({"type":"array","maxItems":18446744073709551615})").expect({"[]", "[1]"}, {});
}

TEST(JsonGrammar, S093_TheUnsatisfiablePlaceIsNamed) {
  const Compact refused = Compact::schema(
      R"({"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":4,
          "exclusiveMaximum":5}},"required":["n"]})");
  EXPECT_NE(refused.refusal.find("unsatisfiable"), std::string::npos) << refused.refusal;
  EXPECT_EQ(refused.where, "/properties/n");
}

}  // namespace
}  // namespace pawl::grammar
