// SPDX-License-Identifier: Apache-2.0
#include "bridge/template.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl::bridge {
namespace {

using base::ErrorCode;

// What the source renders with the variables, or "error: …".
std::string rendered(const std::string& source, const std::string& variables = "{}",
                     const RenderLimits& limits = {}) {
  const auto compiled = Template::compile(source);
  if (!compiled.ok()) return "error: " + compiled.error().message;
  const auto text = compiled->render(variables, limits);
  return text.ok() ? *text : "error: " + text.error().message;
}

// Expectations of this test: json.dumps(x, ensure_ascii=False) of Python 3.11.
TEST(Template, TojsonWritesWhatPythonWrites) {
  const std::string value =
      R"({"v":{"z":[1,2.5,true,null],"a":"Zürich \"q\" <b> 'x' &\n\u0001","e":{},"f":[]}})";
  EXPECT_EQ(
      rendered("{{ v | tojson }}", value),
      R"({"z": [1, 2.5, true, null], "a": "Zürich \"q\" <b> 'x' &\n\u0001", "e": {}, "f": []})");
  EXPECT_EQ(rendered("{{ v | tojson(indent=2) }}", R"({"v":{"b":[1,{}],"a":{"x":"y"}}})"),
            "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": {\n    \"x\": \"y\"\n  }\n}");
  EXPECT_EQ(rendered("{{ v | tojson(separators=(',', ':'), sort_keys=true) }}",
                     R"({"v":{"b":1,"a":[1,2]}})"),
            R"({"a":[1,2],"b":1})");
  EXPECT_EQ(rendered("{{ v | tojson(ensure_ascii=true) }}", R"({"v":"ü😀"})"),
            R"("\u00fc\ud83d\ude00")");
  EXPECT_EQ(
      rendered("{{ v | tojson }}", R"({"v":[1.0,1e22,1e-7,0.0001,123456789012345680.0,-0.5]})"),
      "[1.0, 1e+22, 1e-07, 0.0001, 1.2345678901234568e+17, -0.5]");
}

// Expectations of this test: str(x) of Python 3.11.
TEST(Template, ValuesAreWrittenAsPythonWritesThem) {
  EXPECT_EQ(rendered("{{ none }} {{ true }} {{ 2.0 }} {{ missing }}."), "None True 2.0 .");
  EXPECT_EQ(rendered("{{ v }}", R"({"v":{"a":"it's","b":["x\n",null,1.5],"c":true}})"),
            R"({'a': "it's", 'b': ['x\n', None, 1.5], 'c': True})");
  EXPECT_EQ(rendered("{{ (v | string) ~ '!' }}", R"({"v":["q"]})"), "['q']!");
}

TEST(Template, BlocksAreTrimmedAndPythonsMethodsAreThere) {
  EXPECT_EQ(rendered("  {% if true %}\nx\n  {% endif %}\ny\n"), "x\ny");
  EXPECT_EQ(rendered("{{ ' a,b '.strip().split(',')[-1].upper() }}"), "B");
  EXPECT_EQ(
      rendered("{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", R"({"d":{"z":1,"a":2}})"),
      "z=1;a=2;");
  EXPECT_EQ(rendered("{% for x in [1,2,3] %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}"
                     "{% endfor %}"),
            "13");
}

// Expectations of this test: time.strftime of glibc, English.
TEST(Template, DatesAreWrittenFromTheMomentThatIsGiven) {
  const RenderLimits leap_day{.local_seconds = 1709251199};  // 2024-02-29 23:59:59
  EXPECT_EQ(
      rendered("{{ strftime_now('%d %b %Y|%A %B %-d, %j|%H:%M:%S %I %p|%y%%') }}", "{}", leap_day),
      "29 Feb 2024|Thursday February 29, 060|23:59:59 11 PM|24%");
  const RenderLimits before{.local_seconds = -1};
  EXPECT_EQ(rendered("{{ strftime_now('%Y-%m-%d %a') }}", "{}", before), "1969-12-31 Wed");
  const RenderLimits autumn{.local_seconds = 1795910400};  // 2026-11-29 00:00:00
  EXPECT_EQ(rendered("{{ strftime_now('%F %a %j') }}", "{}", autumn), "2026-11-29 Sun 333");
}

TEST(Template, ErrorsNameTheLine) {
  const auto broken = Template::compile("a\nb\n{% if x %}\n{{ }}\n");
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().code, ErrorCode::kBadFile);
  EXPECT_NE(broken.error().message.find("line 4: syntax error"), std::string::npos)
      << broken.error().message;
  EXPECT_NE(rendered("\n\n{{ 'x' | made_up }}").find("line 3"), std::string::npos);
  EXPECT_NE(rendered("\n{{ a.b.c }}").find("line 2: undefined value"), std::string::npos);
}

TEST(Template, S008_RaisedWordsComeBackAlone) {
  EXPECT_EQ(rendered("{{ raise_exception('System message must be first') }}"),
            "error: System message must be first");
  EXPECT_EQ(rendered("{% macro m() %}{{ raise_exception('Only ' ~ 2) }}{% endmacro %}{{ m() }}"),
            "error: Only 2");
}

TEST(Template, WorkAndMemoryAreBounded) {
  const std::string loop = "{% for i in range(90000) %}{% for j in range(90000) %}";
  for (const std::string& source : {
           loop + "x" + "{% endfor %}{% endfor %}",
           std::string("{% set n = namespace(s='xxxxxxxxxxxxxxxx') %}{% for i in range(60) %}"
                       "{% set n.s = n.s ~ n.s %}{% endfor %}{{ n.s | length }}"),
           std::string("{{ ('x' * 99999999) | length }}"),
           std::string("{% set s = 'aaaaaaaaaaaaaaaa' * 1000 %}{% set t = s.replace('a', s) %}"
                       "{{ t.replace('a', s) | length }}"),
       }) {
    const std::string message = rendered(source);
    EXPECT_NE(message.find("ran out of fuel"), std::string::npos)
        << source << message.substr(0, 99);
  }
  EXPECT_EQ(rendered("xxxxxxxxxx", "{}", {.output_bytes = 9}),
            "error: the template writes more than 9 bytes");
}

TEST(Template, NestingIsBoundedWithoutACrash) {
  const std::string list =
      "{% set n = namespace(x=[]) %}{% for i in range(90000) %}{% set n.x = [n.x] %}{% endfor %}";
  rendered(list);
  rendered(
      "{% set n = namespace(x=[]) %}{% for j in range(90000) %}{% for i in range(90000) %}"
      "{% set n.x = [[[[[[[[[[[[[[[[n.x]]]]]]]]]]]]]]]] %}{% endfor %}{% endfor %}",
      "{}", {.fuel = 4'000'000});
  EXPECT_NE(rendered(list + "{{ n.x }}", "{}", {.fuel = 4'000'000}).find("nested"),
            std::string::npos);
  EXPECT_NE(rendered(list + "{{ n.x | tojson }}", "{}", {.fuel = 4'000'000}).find("nested"),
            std::string::npos);
  EXPECT_NE(rendered("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("recursion"),
            std::string::npos);
  std::string open;
  for (int i = 0; i < 100'000; ++i) open += '(';
  EXPECT_EQ(rendered("{{ " + open + " }}").substr(0, 6), "error:");
}

TEST(Template, BytesThatAreNoTextAreRefused) {
  EXPECT_EQ(rendered("\xFF"), "error: the template is not valid UTF-8");
  EXPECT_NE(rendered("x", "[1]").find("variables of the template"), std::string::npos);
  EXPECT_NE(rendered("x", "{\"a\":\"\xFF\"}").find("UTF-8"), std::string::npos);
}

}  // namespace
}  // namespace pawl::bridge
