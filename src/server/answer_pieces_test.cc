// SPDX-License-Identifier: Apache-2.0
// Answers taken apart as they come: calls of tools and thinking, wherever the pieces are cut.
#include <gtest/gtest.h>

#include "server/thinking_reader.h"
#include "server/tool_calls.h"

namespace pawl::server {
namespace {

struct Taken {
  std::string text;
  std::vector<std::pair<std::string, std::string>> calls;  // name, arguments
  bool operator==(const Taken&) const = default;
};

Taken take(const grammar::ToolStyle& style, const std::vector<std::string_view>& pieces) {
  ToolCallReader reader(style);
  std::vector<ToolEvent> events;
  for (const std::string_view piece : pieces) reader.push(piece, events);
  reader.finish(events);
  Taken taken;
  for (const ToolEvent& event : events) {
    if (event.kind == ToolEvent::Kind::kText) taken.text += event.text;
    if (event.kind == ToolEvent::Kind::kCall) taken.calls.emplace_back(event.text, "");
    if (event.kind == ToolEvent::Kind::kArguments) taken.calls.back().second += event.text;
  }
  return taken;
}

// All cuts into two and three pieces, and single bytes.
template <typename Check>
void at_all_splits(std::string_view whole, const Check& check) {
  for (size_t a = 0; a <= whole.size(); ++a) {
    for (size_t b = a; b <= whole.size(); ++b) {
      check({whole.substr(0, a), whole.substr(a, b - a), whole.substr(b)});
    }
  }
  std::vector<std::string_view> bytes;
  for (size_t i = 0; i < whole.size(); ++i) bytes.push_back(whole.substr(i, 1));
  check(bytes);
}

TEST(ToolCalls, S120_MarkersOfRareCharactersAreFoundAtEverySplit) {
  struct Spelled {
    std::string_view mark, answer;
  };
  const Taken wanted = {"Ein Wort: <｜tool <tool_",
                        {{"find", R"({"q":"}\"]<"})"}, {"add", R"({"n":[1,{"m":2}]})"}}};
  for (const Spelled& spelled :
       {Spelled{
            "<｜tool▁calls▁begin｜>",
            "Ein Wort: <｜tool "
            "<tool_<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>find\n"
            "```json\n{\"q\":\"}\\\"]<\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function"
            "<｜tool▁sep｜>add\n```json\n{\"n\":[1,{\"m\":2}]}\n```<｜tool▁call▁end｜><"
            "｜tool▁calls▁end｜>"},
        Spelled{
            "<tool_call>",
            "Ein Wort: <｜tool <tool_<tool_call>\n{\"name\": \"find\", \"arguments\": "
            "{\"q\":\"}\\\"]<\"}}\n"
            "</tool_call>\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"n\":[1,{\"m\":2}]}}\n"
            "</tool_call>"}}) {
    const grammar::ToolStyle& style = grammar::tool_style_of(spelled.mark);
    ASSERT_EQ(style.template_mark, spelled.mark);
    at_all_splits(spelled.answer, [&](const std::vector<std::string_view>& pieces) {
      ASSERT_EQ(take(style, pieces), wanted) << pieces.front();
    });
  }
}

TEST(ToolCalls, S120_TextThatOnlyBeginsLikeAMarkerIsText) {
  const grammar::ToolStyle& style = grammar::tool_style_of("<｜tool▁calls▁begin｜>");
  const std::string text = "<｜tool▁calls▁beg>, <｜ and <";
  at_all_splits(text, [&](const std::vector<std::string_view>& pieces) {
    ASSERT_EQ(take(style, pieces), (Taken{text, {}}));
  });
}

TEST(Thinking, S115_IsGivenApartWhereverItIsCut) {
  struct Case {
    std::string_view answer, thinking, rest;
  };
  for (const Case& one : {Case{"so </thin </think>\n\n{\"a\":\n1}", "so </thin ", "{\"a\":\n1}"},
                          Case{"</think>x</think>", "", "x</think>"},
                          Case{"never done </thi", "never done </thi", ""},
                          Case{"done</think>\n", "done", ""}, Case{"", "", ""}}) {
    at_all_splits(one.answer, [&](const std::vector<std::string_view>& pieces) {
      ThinkingReader reader;
      std::string thinking, answer;
      for (const std::string_view piece : pieces) reader.push(piece, thinking, answer);
      reader.finish(thinking);
      ASSERT_EQ(thinking, one.thinking);
      ASSERT_EQ(answer, one.rest);
    });
  }
}

}  // namespace
}  // namespace pawl::server
