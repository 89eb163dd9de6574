// SPDX-License-Identifier: Apache-2.0
#include "grammar/tool_grammar.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "grammar/json_writer.h"
#include "grammar/thinking.h"

namespace pawl::grammar {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;
using schema::Language;

namespace {

constexpr ToolStyle kStyles[] = {
    {.name = "hermes",
     .template_mark = "<tool_call>",
     .trigger = "<tool_call>",
     .opening = "",
     .call = "<tool_call>\n{\"name\": \"",
     .middle = "\", \"arguments\": ",
     .close = "}\n</tool_call>",
     .between = "\n",
     .closing = ""},
    {.name = "deepseek",
     .template_mark = "<｜tool▁calls▁begin｜>",
     .trigger = "<｜tool▁calls▁begin｜>",
     .opening = "<｜tool▁calls▁begin｜>",
     .call = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
     .middle = "\n```json\n",
     .close = "\n```<｜tool▁call▁end｜>",
     .between = "\n",
     .closing = "<｜tool▁calls▁end｜>"},
};
constexpr ToolStyle kBare = {.name = "bare",
                             .template_mark = "",
                             .trigger = "",
                             .opening = "",
                             .call = "{\"name\": \"",
                             .middle = "\", \"arguments\": ",
                             .close = "}",
                             .between = "",
                             .closing = ""};

// Keeps what one tool's arguments are written from until the grammar is.
struct Arguments {
  std::unique_ptr<schema::Document> document;
  std::unique_ptr<schema::Expander> expander;
  FormNode node = 0;
};

Result<Arguments> write_arguments(const Tool& tool, schema::LanguageOracle& oracle, Form& form) {
  Arguments made;
  PAWL_TRY(made.document, schema::Document::create(tool.parameters.is_null() ? any_object_schema()
                                                                             : tool.parameters));
  made.expander =
      std::make_unique<schema::Expander>(*made.document, oracle, schema::ExpandLimits{});
  JsonWriter writer(*made.expander, form);
  const schema::SchemaId object =
      made.document->add(made.document->root(), SIZE_MAX, [] { return any_object_schema(); });
  const schema::NodeId root =
      made.expander->both(made.expander->root(), made.expander->node_of(object));
  PAWL_TRY(made.node, writer.value(root));
  PAWL_TRY_VOID(writer.finish());
  if (writer.has_unique_items()) {
    return Error{ErrorCode::kUnsupported, "'uniqueItems' in a tool's parameters is not supported",
                 ""};
  }
  return made;
}

Language text_without(std::string_view trigger) {
  return Language::complement(Language::concat(
      {Language::everything(), Language::literal(trigger), Language::everything()}));
}

}  // namespace

const ToolStyle& tool_style_of(std::string_view template_source) {
  for (const ToolStyle& style : kStyles) {
    if (template_source.find(style.template_mark) != std::string_view::npos) return style;
  }
  return kBare;
}

Result<ToolGrammarText> tool_grammar(const ToolUse& use, Whitespace whitespace) {
  const ToolStyle& style = *use.style;
  CachedOracle oracle;
  Form form;
  ToolGrammarText made;
  std::vector<Arguments> kept;
  const std::string first_call = std::string(style.opening) + std::string(style.call);
  const bool has_text = !use.must_call && !style.trigger.empty();
  const std::string first_head = has_text ? first_call.substr(style.trigger.size()) : first_call;
  const std::string next_head = std::string(style.between) + std::string(style.call);
  std::vector<FormNode> firsts, nexts;
  for (const Tool& tool : use.tools) {
    auto arguments = write_arguments(tool, oracle, form);
    if (!arguments.ok()) {
      Error error = arguments.error();
      error.message = fmt::format("tool {}: {}", base::quoted_text(tool.name), error.message);
      return error;
    }
    const std::string name = tool.name + std::string(style.middle);
    const FormNode close = form.literal(style.close);
    firsts.push_back(form.sequence({form.literal(first_head + name), arguments->node, close}));
    nexts.push_back(form.sequence({form.literal(next_head + name), arguments->node, close}));
    for (const std::string& note : arguments->expander->notes()) {
      made.notes.push_back(fmt::format("tool {}: {}", base::quoted_text(tool.name), note));
    }
    const Json schema = tool.parameters.is_null() ? any_object_schema() : tool.parameters;
    PAWL_TRY(bridge::Validator judge,
             bridge::Validator::compile(schema.dump(),
                                        static_cast<int>(arguments->document->draft()), true));
    made.judges.emplace_back(tool.name, std::move(judge));
    kept.push_back(std::move(*arguments));
  }
  std::vector<FormNode> calls = {form.any(std::move(firsts))};
  if (use.may_call_many && !style.between.empty()) {
    calls.push_back(form.repeat(form.any(std::move(nexts)), 0, {}));
  }
  if (!style.closing.empty()) calls.push_back(form.literal(style.closing));
  FormNode start = form.sequence(calls);
  if (has_text) {
    start = form.any({form.lexeme(text_without(style.trigger)),
                      form.sequence({form.lexeme(text_up_to(style.trigger)), start})});
  }
  std::optional<Language> skip;
  if (whitespace == Whitespace::kAny) skip = any_whitespace();
  PAWL_TRY(made.text, form.text(start, skip, oracle));
  return made;
}

}  // namespace pawl::grammar
