// SPDX-License-Identifier: Apache-2.0
// A conversation as the text a chat model was trained to see: the model's own template, or one
// given in its place, run over messages in the form of OpenAI's API.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "bridge/template.h"
#include "gguf/metadata.h"
#include "text/prompt_pieces.h"
#include "text/template_marks.h"
#include "text/vocab.h"

namespace pawl::text {

struct ChatRequest {
  // [{role, content, …}]: content is a string, an array of parts {type: "text", text}, which are
  // joined, or null or missing, which are the empty text. Whatever else a message holds
  // (tool_calls, tool_call_id, name, …) reaches the template as it is, but for arguments of calls:
  // a string that is a JSON object becomes that object.
  base::Json messages;
  base::Json tools;                     // null, or an array of tools
  base::Json tool_choice;               // null, or as the API has it
  base::Json variables;                 // null, or an object: more variables for the template
  bool add_generation_prompt = true;    // ends where the assistant's answer begins
  bool continue_final_message = false;  // ends inside the last message, which is a beginning to go
                                        // on from; add_generation_prompt then counts as false
  int64_t local_seconds = 0;            // for templates that write the date: since 1970, local time
};

// Lifetime: the vocabulary outlives the template. Threads: immutable; any number may render.
class ChatTemplate {
 public:
  static constexpr const char* kKey = "tokenizer.chat_template";  // of the file's metadata

  // Errors: kBadFile with the line and what is wrong there.
  static base::Result<ChatTemplate> create(std::string_view source, const Vocab& vocab);

  // The model's own. Error kNotFound if it has none, saying what to do; those of create.
  static base::Result<ChatTemplate> of_model(const gguf::Metadata& metadata, const Vocab& vocab);

  // `name_or_file`: a name of bundled_template_names(), or a file. Errors kNotFound, naming both
  // possibilities, kIo; those of create.
  static base::Result<ChatTemplate> open(const std::string& name_or_file, const Vocab& vocab);

  // Errors, kInvalidArgument, naming the message and the member at fault; the template's own words
  // where it refuses; line and what is wrong where it breaks or does too much.
  base::Result<PromptPieces> render(const ChatRequest& request) const;

  // The control token that closes an answer; nothing if the template writes none. Generation has to
  // end there, whatever the file calls its end token.
  std::optional<TokenId> turn_end() const { return turn_end_; }

  const std::string& source() const { return source_; }

 private:
  ChatTemplate(std::string source, bridge::Template compiled, const Vocab& vocab,
               std::unique_ptr<const TemplateMarks> marks);
  base::Result<PromptPieces> render_form(const ChatRequest& request,
                                         const base::Json& messages) const;
  std::string variables_json(const ChatRequest& request, const base::Json& messages) const;
  void find_turn_end();

  std::string source_;
  bridge::Template compiled_;
  const Vocab* vocab_;
  std::unique_ptr<const TemplateMarks> marks_;
  std::optional<TokenId> turn_end_;
};

}  // namespace pawl::text
