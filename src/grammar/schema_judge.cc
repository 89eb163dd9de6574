// SPDX-License-Identifier: Apache-2.0
// Schemas and instances in, verdicts out: what `bench/maskbench` runs. Lines of JSON on standard
// input, {"id", "schema", "tests": [{"valid", "data"}]}; lines on standard output, {"id",
// "refused", "valid_rejected": [i, …], "invalid_accepted": [i, …], "caught": n, "ms"}. An instance
// is written compactly and fed byte by byte; `caught` are accepted ones that the final check
// refuses.
#include <fmt/format.h>

#include <iostream>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "bridge/grammar.h"
#include "bridge/validator.h"
#include "grammar/json_grammar.h"

namespace {

using pawl::base::Json;
using pawl::bridge::Grammar;

constexpr pawl::base::TokenId kEnd = 256;

std::shared_ptr<const pawl::bridge::Vocabulary> bytes_vocabulary() {
  std::vector<std::string> words;
  for (int byte = 0; byte < 256; ++byte) words.emplace_back(1, static_cast<char>(byte));
  words.emplace_back("<end>");
  const std::vector<pawl::base::TokenId> end_ids = {kEnd};
  auto made = pawl::bridge::Vocabulary::create(words, end_ids, {});
  return made.ok() ? *made : nullptr;
}

// JSON without any white space: the dump of ours has some after commas and colons.
void append_compact(const Json& value, std::string& out) {
  if (const Json::Object* members = value.as_object(); members != nullptr) {
    out += '{';
    for (size_t i = 0; i < members->size(); ++i) {
      out += (i > 0 ? "," : "") + Json((*members)[i].key).dump() + ":";
      append_compact((*members)[i].value, out);
    }
    out += '}';
  } else if (const Json::Array* items = value.as_array(); items != nullptr) {
    out += '[';
    for (size_t i = 0; i < items->size(); ++i) {
      if (i > 0) out += ',';
      append_compact((*items)[i], out);
    }
    out += ']';
  } else {
    out += value.dump();
  }
}

// How many bytes are accepted, and whether the text may end there.
bool accepts(const Grammar& grammar, const std::string& text, size_t& bytes) {
  auto walk = grammar.walk();
  if (!walk.ok()) return false;
  for (bytes = 0; bytes < text.size(); ++bytes) {
    const auto accepted = walk->accept(static_cast<unsigned char>(text[bytes]));
    if (!accepted.ok() || !*accepted) return false;
  }
  return walk->is_complete();
}

Json judged(const Json& line, const std::shared_ptr<const pawl::bridge::Vocabulary>& vocabulary) {
  Json verdict;
  verdict["id"] = *line.find("id");
  const pawl::base::SteadyClock clock;
  const int64_t start_ns = clock.now_ns();
  const Json& schema = *line.find("schema");
  auto text = pawl::grammar::json_grammar(schema, pawl::grammar::Whitespace::kNone);
  std::string refused = text.ok() ? "" : text.error().message;
  std::shared_ptr<const Grammar> grammar;
  if (text.ok()) {
    auto made = Grammar::compile(vocabulary, Grammar::Source::kNodes, text->text, {});
    if (made.ok()) grammar = *made;
    if (!made.ok()) refused = "compile: " + made.error().message;
  }
  auto judge =
      pawl::bridge::Validator::compile(schema.dump(), text.ok() ? text->draft : 2020, true);
  if (grammar != nullptr && !judge.ok()) refused = "judge: " + judge.error().message;
  verdict["ms"] = static_cast<double>(clock.now_ns() - start_ns) / 1e6;
  verdict["refused"] = refused.empty() ? Json() : Json(refused);
  if (!refused.empty()) return verdict;
  Json rejected = Json::array(), accepted = Json::array();
  int64_t caught = 0, index = 0;
  const Json* tests = line.find("tests");
  for (const Json& test : tests == nullptr ? Json::Array() : *tests->as_array()) {
    std::string instance;
    append_compact(*test.find("data"), instance);
    size_t bytes = 0;
    const bool is_accepted = accepts(*grammar, instance, bytes);
    const bool is_valid = test.find("valid")->to_bool().value_or(false);
    if (is_valid && !is_accepted) {
      Json where;
      where["test"] = index;
      where["accepted"] = instance.substr(0, bytes).substr(bytes > 120 ? bytes - 120 : 0);
      where["refused"] = instance.substr(bytes, 60);
      rejected.push_back(std::move(where));
    }
    if (!is_valid && is_accepted) {
      accepted.push_back(index);
      auto checked = judge->check(instance);
      caught += checked.ok() && !checked->empty() ? 1 : 0;
    }
    ++index;
  }
  verdict["valid_rejected"] = std::move(rejected);
  verdict["invalid_accepted"] = std::move(accepted);
  verdict["caught"] = caught;
  return verdict;
}

}  // namespace

int main() {
  const auto vocabulary = bytes_vocabulary();
  if (vocabulary == nullptr) return 1;
  std::string text;
  while (std::getline(std::cin, text)) {
    const auto line = pawl::base::parse_json(text, {.depth = 128});
    if (!line.ok()) {
      fmt::print(stderr, "schema_judge: {}\n", line.error().message);
      continue;
    }
    fmt::print("{}\n", judged(*line, vocabulary).dump());
    std::fflush(stdout);
  }
  return 0;
}
