// SPDX-License-Identifier: Apache-2.0
// Any bytes as a text, through small vocabularies of each algorithm: ids are of the vocabulary, a
// text comes back as it was, and a stream of pieces gives what decoding all at once gives.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "gguf/reader.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"

namespace {

using namespace pawl;

void require(bool condition) {
  if (!condition) std::abort();
}

std::vector<std::unique_ptr<text::Tokenizer>> open_all() {
  std::vector<std::unique_ptr<text::Tokenizer>> tokenizers;
  for (const char* name : {"llama-spm", "gemma3", "gpt2", "qwen2"}) {
    const auto file =
        gguf::open(std::string(PAWL_SOURCE_DIR) + "/tests/golden/tiny/" + name + ".gguf");
    require(file.ok());
    auto tokenizer = text::Tokenizer::create(*file);
    require(tokenizer.ok());
    tokenizers.push_back(std::move(tokenizer).value());
  }
  return tokenizers;
}

std::string streamed(const text::Tokenizer& tokenizer, const std::vector<base::TokenId>& ids,
                     bool special) {
  text::StreamDecoder decoder(tokenizer, {.special = special, .begins_text = true});
  std::string out;
  for (const base::TokenId id : ids) {
    const size_t before = out.size();
    decoder.push(id, out);
    require(base::is_valid_utf8(std::string_view(out).substr(before)));
    require(decoder.pending().size() < 4);
  }
  decoder.flush(out);
  return out;
}

void check(const text::Tokenizer& tokenizer, std::string_view text, bool special) {
  const auto ids = tokenizer.encode(text, {.add_bos = false, .parse_special = special});
  require(ids.ok());
  for (const base::TokenId id : *ids) require(tokenizer.vocab().contains(id));
  const auto decoded = tokenizer.decode(*ids, special);
  require(decoded.ok());
  std::string valid;
  base::append_valid_utf8(*decoded, valid);
  require(streamed(tokenizer, *ids, special) == valid);

  // U+2581 is how a vocabulary with scores writes a space: such a text comes back with spaces.
  if (text.find("\xE2\x96\x81") != std::string_view::npos) return;
  require(special || *decoded == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto tokenizers = open_all();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& tokenizer : tokenizers) {
    check(*tokenizer, text, false);
    check(*tokenizer, text, true);
  }
  return 0;
}
