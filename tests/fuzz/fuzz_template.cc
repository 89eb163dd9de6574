// SPDX-License-Identifier: Apache-2.0
// Any bytes as a chat template and a conversation: an error or a text, in bounded time and memory,
// and no control token that only the conversation spells. The input is cut at the first U+0000:
// template, then message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "gguf/reader.h"
#include "text/chat_template.h"
#include "text/prompt_pieces.h"
#include "text/tokenizer.h"

namespace {

using namespace pawl;

void require(bool condition) {
  if (!condition) std::abort();
}

std::unique_ptr<text::Tokenizer> open_tokenizer() {
  const auto file = gguf::open(std::string(PAWL_SOURCE_DIR) + "/tests/golden/tiny/qwen2.gguf");
  require(file.ok());
  auto tokenizer = text::Tokenizer::create(*file);
  require(tokenizer.ok());
  return std::move(tokenizer).value();
}

base::Json message(const char* role, std::string_view content) {
  return base::Json::object_of({{"role", role}, {"content", content}});
}

bool holds_control(const text::Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode(text, {.add_bos = false, .parse_special = true});
  require(ids.ok());
  for (const base::TokenId id : *ids) {
    if (tokenizer.vocab().type(id) == text::TokenType::kControl) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto tokenizer = open_tokenizer();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = input.find('\0');
  const std::string_view source = input.substr(0, cut);
  const std::string_view said = cut == std::string_view::npos ? "" : input.substr(cut + 1);

  const auto chat = text::ChatTemplate::create(source, tokenizer->vocab());
  if (!chat.ok()) {
    require(!chat.error().message.empty());
    return 0;
  }
  // Control tokens may come only of a template that spells one, or has a name or an escape for it.
  const bool spells_markers = holds_control(*tokenizer, source) ||
                              source.find("_token") != std::string_view::npos ||
                              source.find('\\') != std::string_view::npos;
  for (const bool is_open : {false, true}) {
    text::ChatRequest request;
    request.messages.push_back(message("user", said));
    request.messages.push_back(message("assistant", said));
    request.tools = base::Json::array_of({base::Json(said)});
    request.continue_final_message = is_open;
    const auto pieces = chat->render(request);
    if (!pieces.ok()) {
      require(!pieces.error().message.empty());
      continue;
    }
    bool was_text = false;
    for (const text::PromptPiece& piece : *pieces) {
      require(base::is_valid_utf8(piece.text) && !piece.text.empty());
      require(!(was_text && !piece.from_template));
      require(spells_markers || !piece.from_template);
      was_text = !piece.from_template;
    }
    require(text::tokenize(*pieces, *tokenizer).ok());
  }
  return 0;
}
