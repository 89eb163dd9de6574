// SPDX-License-Identifier: Apache-2.0
// For tests of chat templates: models with their template, and vocabularies made on the spot.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "text/chat_template.h"
#include "text/prompt_pieces.h"
#include "text/test_files.h"

namespace pawl::text {

base::Json parsed(const std::string& text);

// A model's file, its tokenizer and its template.
struct ChatModel {
  static ChatModel open(const std::filesystem::path& path);
  static ChatModel open_tiny(const std::string& name);

  const Vocab& vocab() const { return tokenizer->vocab(); }
  ChatTemplate with(const std::string& source) const;
  std::vector<TokenId> ids(const PromptPieces& pieces) const {
    return tokenize(pieces, *tokenizer).value();
  }
  int64_t count_controls(const PromptPieces& pieces) const;

  std::shared_ptr<const gguf::File> file;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat;  // null: the file has none
};

ChatRequest request_of(const std::string& messages);

// What is rendered, or "error: " and the message.
std::string text_of(const ChatTemplate& chat, const ChatRequest& request);

// A vocabulary with these control tokens, the first of which is BOS and the second EOS; other text
// is bytes.
ChatModel with_controls(const std::vector<std::string>& texts, bool add_bos = false,
                        const std::string& chat_template = "");

}  // namespace pawl::text
