// SPDX-License-Identifier: Apache-2.0
// Schemas and instances in, verdicts out: what `bench/maskbench` runs. Lines of JSON on standard
// input, {"id", "schema", "tests": [{"valid", "data"}]}; lines on standard output, {"id",
// "refused", "valid_rejected": [{"test", "accepted", "limit"}], "invalid_accepted": [i, …],
// "caught": n, "ms"}. An instance is written compactly and fed byte by byte, its members in
// whatever order is accepted; `caught` are accepted ones that the final check refuses. With
// "walks": n in a line so many texts are made by chance and checked: "walks": {"whole", "cut",
// "stuck", "invalid": [text, …]}.
#include <fmt/format.h>

#include <iostream>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "bridge/grammar.h"
#include "bridge/validator.h"
#include "grammar/guarded_walk.h"
#include "grammar/instance_feeder.h"
#include "grammar/json_grammar.h"
#include "grammar/random_walks.h"

namespace {

using pawl::base::Json;
using pawl::bridge::Grammar;

std::vector<std::string> bytes_words() {
  std::vector<std::string> words;
  for (int byte = 0; byte < 256; ++byte) words.emplace_back(1, static_cast<char>(byte));
  words.emplace_back();
  return words;
}

const std::shared_ptr<const pawl::grammar::TokenTexts>& bytes_texts() {
  static const auto texts = std::make_shared<const pawl::grammar::TokenTexts>(bytes_words());
  return texts;
}

std::shared_ptr<const pawl::bridge::Vocabulary> bytes_vocabulary() {
  const std::vector<pawl::base::TokenId> end_ids = {pawl::grammar::RandomWalks::kEnd};
  auto made = pawl::bridge::Vocabulary::create(bytes_words(), end_ids, {});
  return made.ok() ? *made : nullptr;
}

struct Made {
  std::shared_ptr<const Grammar> grammar;
  std::shared_ptr<const pawl::grammar::GuardShapes> shapes;
  int draft = 2020;
};

pawl::base::Result<Made> made_of(
    const Json& schema, const std::shared_ptr<const pawl::bridge::Vocabulary>& vocabulary) {
  PAWL_TRY(pawl::grammar::JsonGrammarText text,
           pawl::grammar::json_grammar(schema, pawl::grammar::Whitespace::kNone));
  auto grammar = Grammar::compile(vocabulary, Grammar::Source::kNodes, text.text, {});
  if (!grammar.ok()) {
    return pawl::base::Error{grammar.error().code, "compile: " + grammar.error().message, ""};
  }
  return Made{*grammar, std::make_shared<const pawl::grammar::GuardShapes>(std::move(text.shapes)),
              text.draft};
}

void judge_instances(const Json& schema, const Json::Array& tests, const Made& made,
                     const pawl::bridge::Validator& judge, Json& verdict) {
  Json rejected = Json::array(), accepted = Json::array();
  int64_t caught = 0, index = 0;
  const pawl::grammar::MemberOrders orders = pawl::grammar::member_orders(schema);
  for (const Json& test : tests) {
    pawl::grammar::InstanceFeeder feeder(*made.grammar->walk(), bytes_texts(), made.shapes, orders,
                                         made.draft == 4);
    const bool is_accepted = feeder.takes(*test.find("data"));
    const bool is_valid = test.find("valid")->to_bool().value_or(false);
    if (is_valid && !is_accepted) {
      Json where;
      where["test"] = index;
      const std::string& fed = feeder.longest();
      where["accepted"] = fed.substr(fed.size() > 160 ? fed.size() - 160 : 0);
      if (!feeder.limit().empty()) where["limit"] = feeder.limit();
      rejected.push_back(std::move(where));
    }
    if (!is_valid && is_accepted) {
      accepted.push_back(index);
      const auto checked = judge.check(test.find("data")->dump());
      caught += checked.ok() && !checked->empty() ? 1 : 0;
    }
    ++index;
  }
  verdict["valid_rejected"] = std::move(rejected);
  verdict["invalid_accepted"] = std::move(accepted);
  verdict["caught"] = caught;
}

Json judged(const Json& line, const std::shared_ptr<const pawl::bridge::Vocabulary>& vocabulary) {
  Json verdict;
  verdict["id"] = *line.find("id");
  const pawl::base::SteadyClock clock;
  const int64_t start_ns = clock.now_ns();
  const Json& schema = *line.find("schema");
  const auto made = made_of(schema, vocabulary);
  const auto judge =
      pawl::bridge::Validator::compile(schema.dump(), made.ok() ? made->draft : 2020, true);
  verdict["ms"] = static_cast<double>(clock.now_ns() - start_ns) / 1e6;
  verdict["refused"] = Json();
  if (!made.ok()) {
    verdict["refused"] = made.error().message;
  } else if (!judge.ok()) {
    verdict["refused"] = "judge: " + judge.error().message;
  }
  if (!made.ok() || !judge.ok()) return verdict;
  const Json* tests = line.find("tests");
  judge_instances(schema, tests == nullptr ? Json::Array() : *tests->as_array(), *made, *judge,
                  verdict);
  if (const Json* walks = line.find("walks"); walks != nullptr) {
    pawl::grammar::RandomWalks all(*made->grammar, bytes_texts(), made->shapes);
    verdict["walks"] = all.verdict(*judge, walks->to_int64().value_or(0));
  }
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
