// SPDX-License-Identifier: Apache-2.0
// Any bytes as a JSON Schema: a grammar or an error that says something, in bounded time and
// memory. What becomes a grammar is compiled.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "bridge/grammar.h"
#include "grammar/json_grammar.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

std::shared_ptr<const pawl::bridge::Vocabulary> bytes_vocabulary() {
  std::vector<std::string> words;
  for (int byte = 0; byte < 256; ++byte) words.emplace_back(1, static_cast<char>(byte));
  words.emplace_back("<end>");
  const std::vector<pawl::base::TokenId> end_ids = {256};
  auto made = pawl::bridge::Vocabulary::create(words, end_ids, {});
  require(made.ok());
  return *made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto vocabulary = bytes_vocabulary();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto schema = pawl::base::parse_json(input, {.depth = 96, .bytes = 4096});
  if (!schema.ok()) return 0;
  const auto text = pawl::grammar::json_grammar(*schema, pawl::grammar::Whitespace::kNone);
  if (!text.ok()) {
    require(!text.error().message.empty());
    return 0;
  }
  const auto grammar = pawl::bridge::Grammar::compile(
      vocabulary, pawl::bridge::Grammar::Source::kNodes, text->text, {});
  require(grammar.ok() || !grammar.error().message.empty());
  return 0;
}
