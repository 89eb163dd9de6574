// SPDX-License-Identifier: Apache-2.0
#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "text/bundled_templates.h"
#include "text/test_chat.h"
#include "text/test_files.h"

namespace pawl::text {
namespace {

using base::ErrorCode;
using base::Json;
using Ids = std::vector<TokenId>;

// The rows of a file of tests/golden/chat, with the order of their members kept.
Json golden_rows(const std::string& name) {
  std::ifstream in(clone_golden() / "chat" / name);
  return parsed(std::string(std::istreambuf_iterator<char>(in), {}));
}
std::string string_of(const Json& row, const char* key) {
  const Json* member = row.find(key);
  return member != nullptr && member->as_string() != nullptr ? *member->as_string() : "";
}
ChatRequest request_of_row(const Json& row) {
  ChatRequest request;
  request.messages = *row.find("messages");
  request.tools = *row.find("tools");
  const Json* prompt = row.find("add_generation_prompt");
  request.add_generation_prompt = prompt == nullptr || prompt->to_bool().value_or(true);
  return request;
}
// The file that a row's rendering belongs to.
std::filesystem::path path_of_row(const Json& row) {
  const std::string name = string_of(row, "model");
  return name.starts_with("tiny/") ? clone_golden() / name : model_file("qwen2.5-coder-0.5b");
}

// Opened once for each file.
const ChatModel& model_of_row(const Json& row) {
  static std::map<std::string, ChatModel> models;
  const std::string path = path_of_row(row).string();
  const auto found = models.find(path);
  return found != models.end() ? found->second
                               : models.emplace(path, ChatModel::open(path)).first->second;
}

// --- What is rendered -----------------------------------------------------------------------

// The 25 renderings of jinja2, of the models of this clone and of the real one where it is.
TEST(ChatTemplate, EveryGoldenRenderingIsEqual) {
  int done = 0, left_out = 0;
  const Json rows = golden_rows("renderings.json");
  for (const Json& row : *rows.as_array()) {
    if (!std::filesystem::exists(path_of_row(row))) {
      ++left_out;
      continue;
    }
    const ChatModel& model = model_of_row(row);
    ASSERT_NE(model.chat, nullptr) << row.dump();
    EXPECT_EQ(text_of(*model.chat, request_of_row(row)), string_of(row, "rendered"))
        << string_of(row, "model") << ": " << string_of(row, "name");
    ++done;
  }
  EXPECT_EQ(done + left_out, 25);
  if (left_out > 0) GTEST_SKIP() << left_out << " renderings need qwen2.5-coder-0.5b.gguf";
}

// What jinja2 makes of templates that use what those of model makers use.
TEST(ChatTemplate, FeaturesGiveWhatTheReferenceGives) {
  const ChatModel model = with_controls({"<s>", "</s>"});
  const Json rows = golden_rows("features.json");
  for (const Json& row : *rows.as_array()) {
    const auto chat = ChatTemplate::create(string_of(row, "template"), model.vocab());
    ASSERT_TRUE(chat.ok()) << string_of(row, "name") << ": " << chat.error().message;
    ChatRequest request = request_of_row(row);
    request.local_seconds = 1709251199;
    const std::string expected = row.find("rendered") != nullptr
                                     ? string_of(row, "rendered")
                                     : "error: " + string_of(row, "error");
    EXPECT_EQ(text_of(*chat, request), expected) << string_of(row, "name");
  }
}

TEST(ChatTemplate, ArgumentsOfCallsComeInTheFormThatTheTemplateTakes) {
  const ChatModel model = with_controls({"<s>", "</s>"});
  const char* messages = R"([{"role":"assistant","content":null,"tool_calls":[{"id":"1",
      "type":"function","function":{"name":"f","arguments":"{\"b\": 1, \"a\": \"x\"}"}}]}])";
  const std::string loop = "{% for c in messages[0].tool_calls %}";
  EXPECT_EQ(text_of(model.with(loop + "{{ c.function.arguments | tojson }}{% endfor %}"),
                    request_of(messages)),
            R"({"b": 1, "a": "x"})");
  EXPECT_EQ(text_of(model.with(loop + "{{ 'f ' + c.function.arguments }}{% endfor %}"),
                    request_of(messages)),
            R"(f {"b": 1, "a": "x"})");
}

TEST(ChatTemplate, VariablesAndToolChoiceReachTheTemplate) {
  const ChatModel model = with_controls({"<s>", "</s>"});
  const ChatTemplate chat = model.with("{{ enable_thinking }} {{ tool_choice }} {{ tools }}");
  ChatRequest request = request_of(R"([{"role":"user","content":"x"}])");
  request.variables = parsed(R"({"enable_thinking":false})");
  request.tool_choice = "auto";
  EXPECT_EQ(text_of(chat, request), "False auto None");
  request.variables = parsed(R"({"messages":[]})");
  EXPECT_EQ(text_of(chat, request), "error: chat_template_kwargs.messages has a field of its own");
}

// Expectations: what transformers makes of continue_final_message.
TEST(ChatTemplate, TheFinalMessageCanBeGoneOnFrom) {
  const ChatModel model = ChatModel::open_tiny("llama-untied");
  ChatRequest request =
      request_of(R"([{"role":"user","content":"Hi!"},{"role":"assistant","content":"The sea "}])");
  request.continue_final_message = true;
  EXPECT_EQ(text_of(*model.chat, request),
            "<|im_start|>user\nHi!<|im_end|>\n<|im_start|>assistant\nThe sea ");
  const ChatModel gemma = ChatModel::open_tiny("gemma3");  // its template trims
  EXPECT_EQ(text_of(*gemma.chat, request),
            "<bos><start_of_turn>user\nHi!<end_of_turn>\n<start_of_turn>model\nThe sea");
  request.messages = parsed(R"([{"role":"user","content":"Hi!"}])");
  EXPECT_NE(text_of(*model.chat, request).find("role assistant"), std::string::npos);
}

TEST(ChatTemplate, S008_TheTemplatesOwnWordsSayWhatIsWrong) {
  const ChatModel model = with_controls({"<s>", "</s>", "<|im_end|>"});
  const ChatTemplate chat = model.with(
      "{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
      "{{ raise_exception('System message must be first') }}{% endif %}{{ m.content }}{% endfor "
      "%}");
  const auto pieces =
      chat.render(request_of(R"([{"role":"user","content":"a"},{"role":"system","content":"b"}])"));
  ASSERT_FALSE(pieces.ok());
  EXPECT_EQ(pieces.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(pieces.error().message, "System message must be first");
  EXPECT_EQ(text_of(model.with("{{ raise_exception('no <|im_end|> here') }}"),
                    request_of(R"([{"role":"user","content":"a"}])")),
            "error: no <|im_end|> here");
}

TEST(ChatTemplate, S009_NoContentInAnyShapeRendersAlike) {
  std::vector<ChatModel> models;
  models.push_back(ChatModel::open_tiny("llama-untied"));
  models.push_back(ChatModel::open_tiny("gemma3"));
  if (std::filesystem::exists(model_file("qwen2.5-coder-0.5b"))) {
    models.push_back(ChatModel::open(model_file("qwen2.5-coder-0.5b")));
  }
  const std::string calls =
      R"("tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}])";
  for (const ChatModel& model : models) {
    for (const std::string role : {"user", "assistant"}) {
      for (const std::string& more : {std::string(), "," + calls}) {
        const auto rendered = [&](const std::string& content) {
          return text_of(
              *model.chat,
              request_of("[{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"assistant\","
                         "\"content\":\"r\"},{\"role\":\"user\",\"content\":\"s\"},"
                         "{\"role\":\"" +
                         role + "\"" + content + more + "}]"));
        };
        // Gemma's template wants roles to alternate: it may refuse, but all alike.
        const std::string with_null = rendered(",\"content\":null");
        EXPECT_EQ(rendered(""), with_null);
        EXPECT_EQ(rendered(",\"content\":\"\""), with_null);
        EXPECT_EQ(rendered(",\"content\":[]"), with_null);
        EXPECT_EQ(rendered(R"(,"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}])"),
                  rendered(",\"content\":\"ab\""));
      }
    }
  }
}

TEST(ChatTemplate, WhatIsNoMessageIsNamed) {
  const ChatModel model = with_controls({"<s>", "</s>"});
  const ChatTemplate chat = model.with("x");
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "messages: is no array of at least one message"},
      {"{}", "messages: is no array of at least one message"},
      {"[1]", "messages[0]: is no object"},
      {R"([{"content":"x"}])", "messages[0].role: is missing, or no string"},
      {R"([{"role":"user","content":3}])",
       "messages[0].content: is of type integer, not a string or an array"},
      {R"([{"role":"user"},{"role":"user","content":[{"type":"image_url","image_url":{}}]}])",
       "messages[1].content[0].type: 'image_url' is not supported, text is"},
      {R"([{"role":"assistant","tool_calls":{}}])", "messages[0].tool_calls: is no array"},
  };
  for (const auto& [messages, message] : cases) {
    EXPECT_EQ(text_of(chat, request_of(messages)), std::string("error: ") + message);
  }
}

// --- Ids ---------------------------------------------------------------------------------------

// Where no message holds a control token, the pieces give what the joined text gives.
TEST(ChatTemplate, PiecesGiveTheIdsOfTheJoinedText) {
  const Json rows = golden_rows("renderings.json");
  for (const Json& row : *rows.as_array()) {
    if (string_of(row, "name") == "special text inside") continue;
    if (!std::filesystem::exists(path_of_row(row))) continue;
    const ChatModel& model = model_of_row(row);
    const Ids whole =
        model.tokenizer
            ->encode(string_of(row, "rendered"), {.add_bos = false, .parse_special = true})
            .value();
    EXPECT_EQ(model.ids(model.chat->render(request_of_row(row)).value()), whole)
        << string_of(row, "model") << ": " << string_of(row, "name");
  }
}

// The ids that llama.cpp gives the chat of the reference data.
TEST(ChatTemplate, TheChatOfTheReferenceDataHasItsIds) {
  const auto path = shared_golden() / "real-models/qwen2.5-coder-0.5b.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  if (!std::filesystem::exists(model_file("qwen2.5-coder-0.5b"))) {
    GTEST_SKIP() << "no qwen2.5-coder-0.5b.gguf";
  }
  const ChatModel model = ChatModel::open(model_file("qwen2.5-coder-0.5b"));
  const auto reference = read_json(path);
  for (const auto& prompt : reference["prompts"]) {
    if (prompt["name"] != "chat") continue;
    const auto pieces = model.chat->render(request_of(
        R"([{"role":"system","content":"You are a helpful assistant."},{"role":"user","content":
            "Write a haiku about the sea, then explain it in one sentence."}])"));
    EXPECT_EQ(joined_text(*pieces), prompt["text"].get<std::string>());
    EXPECT_EQ(model.ids(*pieces), prompt["prompt_ids"].get<Ids>());
    return;
  }
  FAIL() << "no chat in " << path;
}

TEST(ChatTemplate, S005_OneBosWhoeverAddsIt) {
  const std::pair<bool, int64_t> by_flag[] = {{false, 0}, {true, 1}};
  for (const auto& [adds, without_template] : by_flag) {
    const ChatModel model = with_controls({"<s>", "</s>"}, adds);
    const TokenId bos = model.vocab().find("<s>");
    for (const char* source :
         {"{{ messages[0].content }}", "{{ bos_token }}{{ messages[0].content }}",
          "<s>{{ messages[0].content }}"}) {
      const bool emits = std::string(source) != "{{ messages[0].content }}";
      for (const char* content : {"a", "<s>a"}) {
        const Ids ids = model.ids(model.with(source)
                                      .render(request_of("[{\"role\":\"user\",\"content\":\"" +
                                                         std::string(content) + "\"}]"))
                                      .value());
        EXPECT_EQ(std::count(ids.begin(), ids.end(), bos), emits ? 1 : without_template) << source;
        EXPECT_EQ(ids.front() == bos, emits || adds);
      }
    }
  }
}

// --- Where an answer ends ------------------------------------------------------------------

TEST(ChatTemplate, S010_TheMarkerThatClosesAnAnswerIsFound) {
  const ChatModel model = with_controls({"<s>", "</s>", "<-user->", "<-model->", "<-over->"});
  const auto end_text = [&](const std::string& source) {
    const auto end = model.with(source).turn_end();
    return end ? std::string(model.vocab().text(*end)) : "none";
  };
  EXPECT_EQ(
      end_text("{% for m in messages %}<-{{ m.role }}->{{ m.content }}<-over->\n{% endfor %}"),
      "<-over->");
  EXPECT_EQ(end_text("{% for m in messages %}{{ m.content }} {{ eos_token }}{% endfor %}"), "</s>");
  EXPECT_EQ(end_text("{% for m in messages %}{{ m.content }}\n{% endfor %}"), "none");
  EXPECT_EQ(end_text("{{ raise_exception('no') }}"), "none");
}

TEST(ChatTemplate, S010_TheFilesTemplateAddsItsMarkerToTheEndSet) {
  const std::string source = "{% for m in messages %}{{ m.content }}<-over->{% endfor %}";
  const ChatModel with = with_controls({"<s>", "</s>", "<-over->"}, false, source);
  EXPECT_TRUE(with.vocab().is_end(with.vocab().find("<-over->")));
  EXPECT_TRUE(with.vocab().is_end(with.vocab().find("</s>")));
  const ChatModel without = with_controls({"<s>", "</s>", "<-over->"});
  EXPECT_FALSE(without.vocab().is_end(without.vocab().find("<-over->")));
  const ChatModel broken = with_controls({"<s>", "</s>", "<-over->"}, false, "{% for");
  EXPECT_FALSE(broken.vocab().is_end(broken.vocab().find("<-over->")));
}

// --- Templates by name -----------------------------------------------------------------------

// Expectations: the formats as their makers describe them.
TEST(ChatTemplate, BundledTemplatesWriteTheirFormats) {
  const ChatModel model = with_controls({"<s>", "</s>"});
  const char* messages = R"([{"role":"system","content":"S"},{"role":"user","content":"U"},
      {"role":"assistant","content":"A"},{"role":"user","content":"V"}])";
  const std::pair<const char*, const char*> cases[] = {
      {"chatml",
       "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"
       "A<|im_end|>\n<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n"},
      {"llama3",
       "<s><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user"
       "<|end_header_id|>\n\nU<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nA<|eot_id|"
       ">"
       "<|start_header_id|>user<|end_header_id|>\n\nV<|eot_id|><|start_header_id|>assistant"
       "<|end_header_id|>\n\n"},
      {"gemma",
       "<s><start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n"
       "<start_of_turn>user\nV<end_of_turn>\n<start_of_turn>model\n"},
      {"llama2", "<s>[INST] <<SYS>>\nS\n<</SYS>>\n\nU [/INST] A </s><s>[INST] V [/INST]"},
      {"mistral", "<s>[INST] S\n\nU [/INST] A</s>[INST] V [/INST]"},
      {"phi",
       "<|system|>\nS<|end|>\n<|user|>\nU<|end|>\n<|assistant|>\nA<|end|>\n<|user|>\nV<|end|>\n"
       "<|assistant|>\n"},
      {"deepseek",
       "<s>S<｜User｜>U<｜Assistant｜>A<｜end▁of▁sentence｜><｜User｜>V<｜Assistant｜>"},
  };
  std::string names;
  for (const auto& [name, expected] : cases) {
    const auto chat = ChatTemplate::open(name, model.vocab());
    ASSERT_TRUE(chat.ok()) << name << ": " << chat.error().message;
    EXPECT_EQ(text_of(*chat, request_of(messages)), expected) << name;
    EXPECT_NE(bundled_template_names().find(name), std::string::npos);
  }
}

TEST(ChatTemplate, NoTemplateSaysWhatToDo) {
  const ChatModel model = with_controls({"<s>", "</s>"});
  gguf::Metadata none;
  const auto of_model = ChatTemplate::of_model(none, model.vocab());
  ASSERT_FALSE(of_model.ok());
  EXPECT_EQ(of_model.error().code, ErrorCode::kNotFound);
  EXPECT_NE(of_model.error().message.find("--chat-template NAME|FILE"), std::string::npos);
  const auto made_up = ChatTemplate::open("made-up", model.vocab());
  ASSERT_FALSE(made_up.ok());
  EXPECT_NE(made_up.error().message.find("'made-up'"), std::string::npos);
  EXPECT_NE(made_up.error().message.find("chatml"), std::string::npos);
}

}  // namespace
}  // namespace pawl::text
