// SPDX-License-Identifier: Apache-2.0
#include "text/chat_template.h"

#include <iterator>
#include <utility>

#include "base/mapped_file.h"
#include "text/bundled_templates.h"
#include "text/chat_messages.h"

namespace pawl::text {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

// A template of more is none. The longest of a known model has some 20 kB.
constexpr size_t kMaxSourceBytes = size_t{1} << 20;

// What rendering may cost: something for the template itself, more with what it is given.
constexpr uint64_t kFuel = 500'000;
constexpr uint64_t kFuelPerByte = 8;
constexpr uint64_t kOutputBytes = size_t{1} << 20;
constexpr uint64_t kOutputPerByte = 16;

constexpr std::string_view kSpecialNames[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                              "pad_token"};
constexpr std::string_view kOwnNames[] = {"messages", "tools", "documents", "tool_choice",
                                          "add_generation_prompt"};

bool is_name_of_ours(std::string_view name) {
  for (const std::string_view own : kOwnNames) {
    if (name == own) return true;
  }
  for (const std::string_view own : kSpecialNames) {
    if (name == own) return true;
  }
  return false;
}

Error wrong(std::string where, const std::string& what) {
  std::string message = where + " " + what;
  return Error{ErrorCode::kInvalidArgument, std::move(message), std::move(where)};
}

Result<void> check(const ChatRequest& request) {
  if (!request.tools.is_null() && request.tools.as_array() == nullptr) {
    return wrong("tools", "is no array");
  }
  if (request.variables.is_null()) return {};
  if (request.variables.as_object() == nullptr) {
    return wrong("chat_template_kwargs", "is no object");
  }
  for (const Json::Member& member : *request.variables.as_object()) {
    if (is_name_of_ours(member.key)) {
      return wrong("chat_template_kwargs." + member.key, "has a field of its own");
    }
  }
  return {};
}

// The messages as JSON, without the characters of marks. `is_open`: what the last one says ends
// with the mark from which the answer goes on.
std::string messages_json(const Json& messages, bool is_open) {
  if (!is_open) return TemplateMarks::protect(messages.dump());
  Json::Array items = *messages.as_array();
  Json::Object members;  // with the content as the last
  for (const Json::Member& member : *items.back().as_object()) {
    if (member.key != "content") members.push_back(member);
  }
  members.push_back({"content", *items.back().find("content")});
  items.back() = Json::object_of(std::move(members));
  std::string text = TemplateMarks::protect(Json::array_of(std::move(items)).dump());
  constexpr std::string_view kBehindContent = "\"}]";
  text.insert(text.size() - kBehindContent.size(), TemplateMarks::end_of_message());
  return text;
}

// The other variables of the caller, in the same way: {"tools": …}
std::string other_json(const ChatRequest& request) {
  Json::Object members;
  const bool has_tools = request.tools.as_array() != nullptr && !request.tools.as_array()->empty();
  members.push_back({"tools", has_tools ? request.tools : Json()});
  members.push_back({"documents", Json()});
  if (!request.tool_choice.is_null()) members.push_back({"tool_choice", request.tool_choice});
  members.push_back(
      {"add_generation_prompt", request.add_generation_prompt && !request.continue_final_message});
  if (const Json::Object* more = request.variables.as_object()) {
    members.insert(members.end(), more->begin(), more->end());
  }
  return TemplateMarks::protect(Json::object_of(std::move(members)).dump());
}

}  // namespace

ChatTemplate::ChatTemplate(std::string source, bridge::Template compiled, const Vocab& vocab,
                           std::unique_ptr<const TemplateMarks> marks)
    : source_(std::move(source)),
      compiled_(std::move(compiled)),
      vocab_(&vocab),
      marks_(std::move(marks)) {
  find_turn_end();
}

Result<ChatTemplate> ChatTemplate::create(std::string_view source, const Vocab& vocab) {
  if (source.size() > kMaxSourceBytes) {
    return Error{ErrorCode::kBadFile,
                 "a chat template of " + std::to_string(source.size()) + " bytes, at most " +
                     std::to_string(kMaxSourceBytes) + " are accepted",
                 kKey};
  }
  auto marks = std::make_unique<const TemplateMarks>(vocab);
  auto compiled = bridge::Template::compile(marks->mark_source(source));
  if (!compiled.ok()) {
    Error error = std::move(compiled).error();
    error.message = "the chat template: " + marks->read_as_text(error.message);
    return error;
  }
  return ChatTemplate(std::string(source), std::move(compiled).value(), vocab, std::move(marks));
}

Result<ChatTemplate> ChatTemplate::of_model(const gguf::Metadata& metadata, const Vocab& vocab) {
  if (metadata.find(kKey) == nullptr) {
    return Error{
        ErrorCode::kNotFound,
        "the model has no chat template; --chat-template NAME|FILE gives one, names are: " +
            bundled_template_names(),
        kKey};
  }
  PAWL_TRY(const std::string_view source, metadata.get_string(kKey));
  return create(source, vocab);
}

Result<ChatTemplate> ChatTemplate::open(const std::string& name_or_file, const Vocab& vocab) {
  const std::string_view bundled = bundled_template(name_or_file);
  if (!bundled.empty()) return create(bundled, vocab);
  auto file = base::MappedFile::open(name_or_file);
  if (!file.ok()) {
    if (file.error().code != ErrorCode::kNotFound) return std::move(file).error();
    return Error{ErrorCode::kNotFound,
                 "no chat template '" + name_or_file +
                     "': no file of this name, and none of: " + bundled_template_names(),
                 "--chat-template"};
  }
  const auto bytes = file->bytes();
  return create({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, vocab);
}

std::string ChatTemplate::variables_json(const ChatRequest& request, const Json& messages) const {
  const SpecialIds& special = vocab_->special();
  const TokenId ids[] = {special.bos, special.eos, special.unk, special.sep, special.pad};
  static_assert(std::size(ids) == std::size(kSpecialNames));
  std::string text = "{\"messages\":" + messages_json(messages, request.continue_final_message);
  for (size_t i = 0; i < std::size(ids); ++i) {
    text += ",\"" + std::string(kSpecialNames[i]) + "\":" + Json(marks_->mark_token(ids[i])).dump();
  }
  return text + "," + other_json(request).substr(1);
}

Result<PromptPieces> ChatTemplate::render_form(const ChatRequest& request,
                                               const Json& messages) const {
  const std::string variables = variables_json(request, messages);
  const bridge::RenderLimits limits{
      .fuel = kFuel + kFuelPerByte * variables.size(),
      .output_bytes = kOutputBytes + kOutputPerByte * variables.size(),
      .local_seconds = request.local_seconds};
  auto rendered = compiled_.render(variables, limits);
  if (!rendered.ok()) {
    Error error = std::move(rendered).error();
    error.message = marks_->read_as_text(error.message);
    return error;
  }
  TemplateMarks::Rendered read = marks_->read(*rendered);
  if (request.continue_final_message && !read.has_end_of_message) {
    return wrong("continue_final_message", "has no effect: the template leaves the message out");
  }
  return std::move(read.pieces);
}

Result<PromptPieces> ChatTemplate::render(const ChatRequest& request) const {
  PAWL_TRY_VOID(check(request));
  PAWL_TRY(const Json messages, normal_messages(request.messages, ToolArguments::kAsObject));
  const std::string& last_role = *messages.as_array()->back().find("role")->as_string();
  if (request.continue_final_message && last_role != "assistant") {
    return wrong("continue_final_message",
                 "needs a last message of the role assistant, it is '" + last_role + "'");
  }
  auto pieces = render_form(request, messages);
  if (pieces.ok() || !has_tool_calls(messages)) return pieces;
  PAWL_TRY(const Json with_text, normal_messages(request.messages, ToolArguments::kAsText));
  auto second = render_form(request, with_text);
  return second.ok() ? std::move(second) : std::move(pieces);
}

// Lets an assistant say a word and looks which control token comes right behind it.
void ChatTemplate::find_turn_end() {
  constexpr std::string_view kWord = "pawl-probe";
  ChatRequest probe;
  for (const auto& [role, content] :
       {std::pair{"user", "x"}, std::pair{"assistant", kWord.data()}}) {
    probe.messages.push_back(Json::object_of({{"role", role}, {"content", content}}));
  }
  probe.add_generation_prompt = false;
  const auto pieces = render(probe);
  if (!pieces.ok()) return;
  for (size_t i = 0; i + 1 < pieces->size(); ++i) {
    const std::string& text = (*pieces)[i].text;
    const size_t word = text.rfind(kWord);
    if (word == std::string::npos || !(*pieces)[i + 1].from_template) continue;
    if (text.find_first_not_of(" \t\r\n", word + kWord.size()) != std::string::npos) continue;
    turn_end_ = vocab_->find((*pieces)[i + 1].text);
  }
}

}  // namespace pawl::text
