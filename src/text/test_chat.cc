// SPDX-License-Identifier: Apache-2.0
#include "text/test_chat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace pawl::text {

using base::Json;

Json parsed(const std::string& text) {
  auto json = base::parse_json(text);
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? *json : Json();
}
ChatModel ChatModel::open(const std::filesystem::path& path) {
  ChatModel made;
  made.file = gguf::open(path.string()).value();
  made.tokenizer = Tokenizer::create(made.file).value();
  auto chat = ChatTemplate::of_model(made.file->metadata(), made.vocab());
  if (chat.ok()) made.chat = std::make_unique<ChatTemplate>(std::move(chat).value());
  return made;
}

ChatModel ChatModel::open_tiny(const std::string& name) {
  return open(clone_golden() / "tiny" / (name + ".gguf"));
}

ChatTemplate ChatModel::with(const std::string& source) const {
  auto made = ChatTemplate::create(source, vocab());
  EXPECT_TRUE(made.ok()) << source << (made.ok() ? "" : made.error().message);
  return std::move(made).value();
}

int64_t ChatModel::count_controls(const PromptPieces& pieces) const {
  const std::vector<TokenId> all = ids(pieces);
  return std::count_if(all.begin(), all.end(),
                       [&](TokenId id) { return vocab().type(id) == TokenType::kControl; });
}

ChatRequest request_of(const std::string& messages) {
  ChatRequest request;
  request.messages = parsed(messages);
  return request;
}

std::string text_of(const ChatTemplate& chat, const ChatRequest& request) {
  const auto pieces = chat.render(request);
  return pieces.ok() ? joined_text(*pieces) : "error: " + pieces.error().message;
}

ChatModel with_controls(const std::vector<std::string>& texts, bool add_bos,
                        const std::string& chat_template) {
  TinyVocabulary vocabulary = TinyVocabulary::smallest_spm();
  for (const std::string& text : texts) {
    vocabulary.tokens.push_back(text);
    vocabulary.types.push_back(static_cast<int32_t>(TokenType::kControl));
    vocabulary.scores.push_back(0);
  }
  const auto first = static_cast<uint32_t>(vocabulary.tokens.size() - texts.size());
  ChatModel made;
  auto tokenizer = vocabulary.create([&](gguf::Writer& writer) {
    writer.add("tokenizer.ggml.bos_token_id", first);
    writer.add("tokenizer.ggml.eos_token_id", first + 1);
    writer.add("tokenizer.ggml.add_bos_token", add_bos);
    writer.add("tokenizer.ggml.add_space_prefix", false);
    if (!chat_template.empty()) writer.add("tokenizer.chat_template", chat_template);
  });
  EXPECT_TRUE(tokenizer.ok()) << (tokenizer.ok() ? "" : tokenizer.error().message);
  made.tokenizer = std::move(tokenizer).value();
  return made;
}

}  // namespace pawl::text
