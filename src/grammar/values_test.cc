// SPDX-License-Identifier: Apache-2.0
// Numbers, strings, patterns and formats. The expectations are those of JSON, of ECMA-262 and of
// the standards that define the formats.
#include <fmt/format.h>

#include <algorithm>

#include "grammar/schema_for_test.h"

namespace pawl::grammar {
namespace {

TEST(Values, S086_PatternTogetherWithLengthAndEnumeration) {
  Compact::schema(R"({"type":"string","pattern":"^[0-9a-f]+$","maxLength":4})")
      .expect({R"("0")", R"("beef")"}, {R"("abcde")", R"("")", R"("g")"});
  Compact::schema(R"({"type":"string","pattern":"b","minLength":2,"maxLength":3})")
      .expect({R"("ab")", R"("bcd")"}, {R"("b")", R"("acd")", R"("abcd")"});
  Compact::schema(
      R"({"type":"string","format":"date","pattern":"^2024","enum":["2024-01-02","2023-01-02"]})")
      .expect({R"("2024-01-02")"}, {R"("2023-01-02")", R"("2024-01-03")"});
}

TEST(Values, S087_BoundsOfANumber) {
  Compact::schema(R"({"type":"number","minimum":0,"maximum":1})")
      .expect({"0", "1", "0.25", "1.0", "0.0"}, {"7.5", "1.01", "-0.1", "2", "1.0001"});
  Compact::schema(R"({"type":"number","exclusiveMinimum":-1.5,"exclusiveMaximum":2.25})")
      .expect({"-1.4", "-1", "0", "2.2", "2.249", "-1.49999"},
              {"-1.5", "2.25", "3", "-2", "-1.50"});
  std::string many = "0.";
  many.append(200, '1');
  EXPECT_FALSE(Compact::schema(R"({"type":"number"})").takes(many));
}

TEST(Values, S088_Multiples) {
  const Compact six = Compact::schema(R"({"type":"integer","multipleOf":6})");
  const Compact twentieth = Compact::schema(R"({"type":"number","multipleOf":0.05})");
  for (int i = -100; i <= 100; ++i) {
    EXPECT_EQ(six.takes(std::to_string(i)), i % 6 == 0) << i;
    EXPECT_EQ(twentieth.takes(fmt::format("{:.2f}", i / 100.0)), i % 5 == 0) << i;
  }
}

TEST(Values, MultiplesWithFewerDigitsThanTheirStepAndWithZerosBehindThem) {
  Compact::schema(R"({"type":"number","multipleOf":0.25})")
      .expect({"2", "2.0", "2.5", "2.25", "2.250", "-0.5", "0", "0.00"},
              {"2.1", "2.2", "2.26", "2.255", "0.125"});
  Compact::schema(R"({"type":"number","multipleOf":0.001})")
      .expect({"1", "1.5", "0.12", "0.123", "12.100", "-7.05"}, {"0.1234", "1.0001"});
  Compact::schema(R"({"type":"number","multipleOf":0.015})")
      .expect({"0.015", "0.03", "0.3", "3", "0.045", "0.0450"}, {"0.01", "0.1", "1", "0.02"});
  Compact::schema(R"({"type":"number","multipleOf":6})")
      .expect({"6", "12.0", "0.0"}, {"6.5", "4.0"});
}

TEST(Values, WhatIsNoMultipleInAnySpelling) {
  Compact::schema(R"({"type":"number","not":{"multipleOf":0.25}})")
      .expect({"2.1", "2.26", "0.3"}, {"2", "2.0", "2.5", "2.250", "0.0"});
  Compact::schema(R"({"type":"number","not":{"multipleOf":6}})")
      .expect({"5", "6.5", "4.0"}, {"6", "6.0", "-12.00", "0"});
}

TEST(Values, ListsOfArraysAndObjectsInEveryDraft) {
  for (const char* draft :
       {"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2020-12/schema"}) {
    const auto with = [&](std::string_view rest) {
      return fmt::format(R"({{"$schema":"{}",{}}})", draft, rest);
    };
    Compact::schema(with(R"("enum":[["a",1],{"k":["b"]},[]])"))
        .expect({R"(["a",1])", R"({"k":["b"]})", "[]"},
                {R"(["b",1])", R"(["a",2])", R"({"k":["c"]})", R"({"k":[]})", "{}", R"(["a"])"});
    Compact::schema(with(R"("type":"array","items":{"enum":["a","b"]},"not":{"enum":[["a"]]})"))
        .expect({R"(["b"])", R"(["a","b"])", "[]"}, {R"(["a"])"});
  }
}

TEST(Values, MultiplesOfRoundSteps) {
  Compact::schema(R"({"type":"integer","multipleOf":1000000})")
      .expect({"0", "1000000", "-25000000"}, {"100000", "1000001", "1500000", "00"});
  Compact::schema(R"({"type":"number","multipleOf":1200})")
      .expect({"0", "0.0", "1200", "2400.00", "-3600"}, {"1200.5", "1300", "600", "12"});
  EXPECT_NE(Compact::schema(R"({"multipleOf":0.123456789})").refusal.find("decimals"),
            std::string::npos);
}

TEST(Values, S089_LowerBoundBelowZero) {
  Compact::schema(R"({"type":"integer","minimum":-12})")
      .expect({"-12", "-1", "0", "5", "1000"}, {"-13", "-", "-0x", "-120", "1.5"});
}

TEST(Values, S090_TheDotIsADot) {
  const Compact schema = Compact::schema(R"({"type":"number","minimum":2.5,"maximum":9.5})");
  for (int c = 32; c < 127; ++c) {
    const std::string text = std::string("3") + static_cast<char>(c) + "5";
    EXPECT_EQ(schema.takes(text), c == '.') << text;
  }
}

TEST(Values, S091_NoLeadingZero) {
  Compact::schema(R"({"type":"integer","minimum":3,"maximum":2099})")
      .expect({"7", "2099", "3", "100"}, {"07", "00", "-03", "2100", "2"});
}

TEST(Values, S092_OneDotAndOneExponent) {
  Compact::schema(R"({"type":"number"})")
      .expect({"1", "1.2", "1e2", "1.5E-3", "0", "-1"},
              {"1.2.3", "1e2e3", "1.e2", ".5", "1.", "+1", "01"});
  Compact::schema(R"({"type":"number"})")
      .expect({"1e+307", "-9.5e300", "12e250", "3e-999"}, {"1e309", "12e999", "100e300", "1e0309"});
}

TEST(Values, S094_TextOutsideAscii) {
  Compact::schema(R"({"enum":["en ligne","在线","🙂"]})")
      .expect({R"("en ligne")", R"("在线")", R"("🙂")"}, {R"("在")", R"("线在")", R"("?")"});
}

TEST(Values, S095_KeysThatNeedEscapes) {
  for (const auto& [key, written] :
       std::initializer_list<std::pair<const char*, const char*>>{{R"(a\tb)", R"(a\tb)"},
                                                                  {R"(q\"q)", R"(q\"q)"},
                                                                  {R"(b\\b)", R"(b\\b)"},
                                                                  {R"(\u0001)", R"(\u0001)"},
                                                                  {"ü", "ü"},
                                                                  {"", ""}}) {
    const std::string name = std::string("\"") + key + "\"";
    const Compact schema = Compact::schema("{\"type\":\"object\",\"properties\":{" + name +
                                           ":{\"type\":\"integer\"}},\"required\":[" + name + "]}");
    EXPECT_TRUE(schema.takes(std::string("{\"") + written + "\":1}")) << key;
    EXPECT_FALSE(schema.takes("{\"a\tb\":1}"));
  }
}

TEST(Values, S096_ClassesAreThoseOfEcma) {
  Compact::schema(R"({"type":"string","pattern":"^\\d{2}$"})")
      .expect({R"("34")"}, {R"("٣٤")", R"("3")"});
  Compact::schema(R"({"type":"string","pattern":"^\\w$"})").expect({R"("a")"}, {R"("ä")"});
  Compact::schema("{\"type\":\"string\",\"pattern\":\"^\\\\s$\"}")
      .expect({"\"\xC2\xA0\"", "\"\xEF\xBB\xBF\"", "\"\xE2\x80\xA8\"", R"("\t")"}, {R"("a")"});
}

TEST(Values, S097_RoundLimits) {
  for (const int limit : {1999, 2000, 2001, 255, 256, 1024, 4096}) {
    const Compact schema =
        Compact::schema(fmt::format(R"({{"type":"string","maxLength":{}}})", limit));
    const std::string most(static_cast<size_t>(limit), 'x');
    EXPECT_TRUE(schema.takes("\"" + most + "\"")) << limit;
    EXPECT_FALSE(schema.takes("\"" + most + "x\"")) << limit;
  }
}

TEST(Values, S098_SmallNumbersWithoutBounds) {
  Compact::schema(R"({"type":"number"})").expect({"1e-7", "0.1234567"}, {});
  Compact::schema(R"({"type":"number","minimum":0})")
      .expect({"0.0000001", "0.1234567"}, {"-1e-7", "-0.1"});
}

TEST(Values, S100_PatternsAreSearchedForAndWhatIsNoneIsNamed) {
  Compact::schema(R"({"type":"string","pattern":"^[A-Z]{2}-[0-9]{4}$"})")
      .expect({R"("AB-1234")"}, {R"("AB-123")", R"("xAB-1234")"});
  Compact::schema(R"({"type":"string","pattern":"[0-9]{3}"})")
      .expect({R"("a123b")", R"("123")"}, {R"("12")"});
  const Compact ahead = Compact::schema(R"j({"type":"string","pattern":"^(?:(?=a)b)+"})j");
  EXPECT_NE(ahead.refusal.find("repeated at column 12"), std::string::npos) << ahead.refusal;
  EXPECT_NE(Compact::schema(R"j({"pattern":"(a)\\1"})j").refusal.find("back reference at column 5"),
            std::string::npos);
  EXPECT_NE(Compact::schema(R"j({"pattern":"a("})j").refusal.find("column"), std::string::npos);
}

// ECMA-262 §22.2.1 and, for characters that need no escape, annex B.1.2.
TEST(Values, EscapesInPatterns) {
  Compact::schema(R"j({"type":"string","pattern":"^\\x41\\u0042\\u{43}\\cJ\\-\\é\\p{Lu}$"})j")
      .expect({R"("ABC\n-éQ")"}, {R"("ABC\n-éq")", R"("ABCJ-éQ")", R"("ABC\nxéQ")"});
  Compact::schema(R"j({"type":"string","pattern":"^[\\t\\n]\\f\\r$"})j")
      .expect({R"("\t\f\r")", R"("\n\f\r")"}, {R"("tfr")", R"("\f\f\r")", R"("\t\n\r")"});
  Compact::schema(R"j({"type":"string","pattern":"^\\ud83d\\ude00$"})j")
      .expect({R"("😀")"}, {R"("a")"});
  const std::pair<const char*, const char*> wrong[] = {{"\\\\ud83d", "half a surrogate"},
                                                       {"\\\\u{110000}", "no code point"},
                                                       {"\\\\u{}", "no code point"},
                                                       {"\\\\u12g4", "without four digits"},
                                                       {"\\\\p{a-b}", "no property"}};
  for (const auto& [pattern, reason] : wrong) {
    const Compact refused = Compact::schema(fmt::format(R"({{"pattern":"{}"}})", pattern));
    EXPECT_NE(refused.refusal.find(reason), std::string::npos) << pattern << refused.refusal;
  }
}

TEST(Values, AnchorsStandAnywhere) {
  Compact::schema(R"({"type":"string","pattern":"^a$|^b"})")
      .expect({R"("a")", R"("b")", R"("bc")"}, {R"("ab")", R"("ca")"});
  Compact::schema(R"j({"type":"string","pattern":"(^|x)y(z|$)"})j")
      .expect({R"("y")", R"("yzz")", R"("axy")", R"("axyzb")"}, {R"("ay")", R"("yy")"});
}

TEST(Values, LooksAroundWithoutMatching) {
  Compact::schema(R"j({"type":"string","pattern":"^(?!x-)[a-z-]+$"})j")
      .expect({R"("a")", R"("x")", R"("xy-")"}, {R"("x-")", R"("x-a")", R"("")", R"("A")"});
  Compact::schema(R"j({"type":"string","pattern":"^(?=.*[0-9])(?=.*[a-z]).{3,5}$"})j")
      .expect({R"("a1-")", R"("..9z")"}, {R"("a1")", R"("abc")", R"("123")", R"("a1aaaa")"});
  Compact::schema(R"j({"type":"string","pattern":"^a(?=b|$)"})j")
      .expect({R"("a")", R"("ab")", R"("abc")"}, {R"("ac")", R"("ba")"});
  Compact::schema(R"j({"type":"string","pattern":"^[^.]*$(?<!z)"})j")
      .expect({R"("")", R"("ab")", R"("za")"}, {R"("z")", R"("az")", R"("a.b")"});
  Compact::schema(R"j({"type":"string","pattern":"\\bcat\\b"})j")
      .expect({R"("cat")", R"("a cat.")", R"("-cat")"},
              {R"("cats")", R"("a bobcat")", R"("_cat")"});
  Compact::schema(R"j({"type":"string","pattern":"\\Bcat"})j")
      .expect({R"("bobcat")", R"("a bobcats")"}, {R"("cat")", R"("a cat")"});
}

TEST(Values, AClassWithoutQuotesOrBackslashesHasNone) {
  Compact::schema(R"j({"type":"string","pattern":"^[^\\\\]+$"})j")
      .expect({R"("a")", R"("\n")", R"("\"")"}, {R"("a\\b")", R"("\\")"});
  Compact::schema(R"j({"type":"string","pattern":"^[^\"]+$"})j")
      .expect({R"("a")", R"("\\")", R"("\t")"}, {R"("a\"b")", R"("\"")"});
  Compact::schema(R"j({"type":"string","pattern":"^[^\"\\\\\n]*$"})j")
      .expect({R"("")", R"("\t")"}, {R"("\"")", R"("\\")", R"("\n")"});
  Compact::schema(R"j({"type":"string","pattern":"^[\\u0000-\\u001Fa]$"})j")
      .expect({R"("\n")", R"("a")"}, {R"("\\")", R"("\"")", R"("b")"});
  Compact::schema(R"j({"type":"string","not":{"pattern":"^[^\\\\]*$"}})j")
      .expect({R"("\\")", R"("a\\b")"}, {R"("")", R"("a")", R"("\u0001")"});
}

TEST(Values, FormatsAsTheirStandardsHaveThem) {
  const auto format = [](const char* name) {
    return Compact::schema(fmt::format(R"({{"type":"string","format":"{}"}})", name));
  };
  format("date-time")
      .expect(
          {R"("2024-02-28T23:59:59Z")", R"("2024-12-31T00:00:00.5+02:00")"},
          {R"("2024-02-30T00:00:00Z")", R"("2024-02-28 00:00:00Z")", R"("2024-02-28T24:00:00Z")"});
  format("uuid").expect({R"("123e4567-e89b-12d3-a456-426655440000")"}, {R"("123e4567")"});
  format("ipv4").expect({R"("255.0.10.1")"}, {R"("256.0.0.1")", R"("01.2.3.4")", R"("1.2.3")"});
  format("ipv6").expect({R"("::1")", R"("1:2:3:4:5:6:7:8")", R"("::ffff:1.2.3.4")", R"("fe80::1")"},
                        {R"("1::2::3")", R"("1:2:3:4:5:6:7:8:9")", R"(":::")"});
  format("email").expect({R"("a.b@example.com")"}, {R"("a@")", R"("@b")", R"("a b@c.d")"});
  format("hostname").expect({R"("a-b.example")"}, {R"("-a")", R"("a..b")", R"("")"});
  format("uri").expect({R"("http://example.com/a?b#c")", R"("urn:a:b")"},
                       {R"("/a")", R"("a b")", R"("http://a b")"});
  format("json-pointer").expect({R"("")", R"("/a/~0b")"}, {R"("a")", R"("/~2")"});
  format("duration").expect({R"("P1Y2M3DT4H")", R"("PT5S")", R"("P2W")"}, {R"("P")", R"("1D")"});
}

TEST(Values, UniqueItemsAreRememberedAndListsRunOut) {
  Compact::schema(R"({"type":"array","items":{"type":"integer"},"uniqueItems":true,"maxItems":4})")
      .expect({"[]", "[1]", "[1,2,3,4]", "[1,11]"}, {"[1,1]", "[1,2,1]", "[1,2,3,4,5]"});
  Compact::schema(R"({"type":"array","items":{"enum":["ab","ac","b"]},"uniqueItems":true})")
      .expect({R"(["ab"])", R"(["b","ac","ab"])"},
              {R"(["ab","ab"])", R"(["ab","ac","b","ab"])", R"(["ab","ac","b",)"});
  Compact::schema(R"({"type":"object","properties":{"a":{"type":"array","uniqueItems":true},
                      "b":{"type":"array"}},"additionalProperties":false})")
      .expect({R"({"a":[[1,1],2],"b":[1,1]})", R"({"a":[{"x":1},{"x":2}]})"},
              {R"({"a":[1,1]})", R"({"a":[{"x":1},{"x":1}]})", R"({"a":["",""]})"});
  // What is equal by the standard, whatever its spelling.
  Compact::schema(R"({"uniqueItems":true})")
      .expect({R"([{"a":1,"b":2},{"b":1,"a":2}])", "[[1],[2]]"},
              {R"([{"a":1,"b":2},{"b":2,"a":1}])", "[1,1.0]", "[[10],[1e1]]", R"(["",""])"});
}

TEST(Values, AWordThatWasThereDoesNotBeginAgain) {
  const Compact schema = Compact::schema(R"({"type":"array","uniqueItems":true})");
  schema.expect({"[true,false,null]", R"(["true",true])", "[true,[true]]"}, {"[true,true]"});
  GuardedWalk walk(*schema.grammar->walk(), bytes_texts(), schema.guarded);
  for (const char c : std::string_view("[true,")) ASSERT_TRUE(*walk.accept(c));
  EXPECT_FALSE(*walk.accept('t'));
  EXPECT_TRUE(*walk.accept('f'));
}

TEST(Values, NoMemberComesTwice) {
  Compact::schema(R"({"type":"object","additionalProperties":{"type":"integer"}})")
      .expect({R"({"a":1,"b":2})", R"({"a":1,"aa":2})"}, {R"({"a":1,"a":2})", R"({"":1,"":1})"});
}

TEST(Values, S103_AThousandAndFiveHundredNames) {
  std::string list;
  std::vector<std::string> names;
  uint64_t random = 1;
  for (int i = 0; i < 1500; ++i) {
    std::string name;
    random = random * 6364136223846793005u + 1442695040888963407u;
    const size_t letters = 6 + (random >> 60) % 9;
    for (size_t k = 0; k < letters; ++k) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      name += static_cast<char>('a' + (random >> 40) % 26);
    }
    names.push_back(name);
    list += (i > 0 ? ",\"" : "\"") + name + "\"";
  }
  const Compact schema = Compact::schema("{\"enum\":[" + list + "]}");
  for (const std::string& name : names) EXPECT_TRUE(schema.takes("\"" + name + "\"")) << name;
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    const std::string mixed = names[i].substr(0, 3) + names[i + 1].substr(3);
    const bool is_known = std::find(names.begin(), names.end(), mixed) != names.end();
    EXPECT_EQ(schema.takes("\"" + mixed + "\""), is_known) << mixed;
  }
}

TEST(Gbnf, S105_S106_S116_CountsAndRules) {
  Compact::gbnf(R"(root ::= "a" [0-9]{2} b*
b ::= ("x" | "yz")+)")
      .expect({"a12", "a12x", "a34yzx"}, {"a1", "a12y", "b12"});
  Compact::gbnf("root ::= \"abc\" | \"ab\" \"d\"").expect({"abc", "abd"}, {"ab", "abcd"});
  const Compact many = Compact::gbnf("root ::= \"q\"{1000000000,2000000000}");
  EXPECT_EQ(many.refusal, "");
  EXPECT_FALSE(many.takes("qqq"));
  EXPECT_NE(Compact::gbnf("root ::= root").refusal.find("no finite text"), std::string::npos);
  EXPECT_EQ(Compact::gbnf("start ::= \"yes\" | \"no\"").refusal, "no rule named root");
  EXPECT_NE(Compact::gbnf("root ::= other").refusal.find("line 1, column 10"), std::string::npos);
  EXPECT_NE(Compact::gbnf("root ::= \"a").refusal.find("column"), std::string::npos);
  EXPECT_NE(Compact::gbnf("  ").refusal.find("empty"), std::string::npos);
}

TEST(Gbnf, S102_NotContainingTwoOverlappingWords) {
  // By an automaton: the language is regular, and so is its complement.
  const Compact schema =
      Compact::schema(R"({"type":"string","pattern":"^[v-z]*$","not":{"pattern":"xyz|wxyv"}})");
  for (int length = 0; length <= 5; ++length) {
    int count = 1;
    for (int i = 0; i < length; ++i) count *= 5;
    for (int n = 0; n < count; ++n) {
      std::string word;
      for (int i = 0, rest = n; i < length; ++i, rest /= 5)
        word += static_cast<char>('v' + rest % 5);
      const bool is_bad = word.find("xyz") != word.npos || word.find("wxyv") != word.npos;
      EXPECT_EQ(schema.takes("\"" + word + "\""), !is_bad) << word;
    }
  }
}

}  // namespace
}  // namespace pawl::grammar
