// SPDX-License-Identifier: Apache-2.0
// A grammar in the making: nodes that refer to one another, lexemes at their ends. What no text can
// come of is left out before it is compiled.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/expand.h"
#include "schema/language.h"

namespace pawl::grammar {

using FormNode = int32_t;

// Threads: none.
class Form {
 public:
  FormNode literal(std::string_view text);
  FormNode lexeme(const schema::Language& language);
  FormNode sequence(std::vector<FormNode> parts);  // of none: the empty text
  FormNode any(std::vector<FormNode> options);     // of none: no text
  FormNode repeat(FormNode item, int64_t least, std::optional<int64_t> most);

  // A node to be defined later, for what refers to itself.
  FormNode reserve(std::string label);
  void define(FormNode reserved, FormNode meaning);

  size_t size() const { return nodes_.size(); }

  // The JSON form of bridge.h, of what can be reached and ends. skip: what may stand between two
  // lexemes. Error kInvalidArgument, with the label of the place as `where`: no text obeys.
  base::Result<std::string> text(FormNode start, const std::optional<schema::Language>& skip,
                                 schema::LanguageOracle& oracle) const;

 private:
  enum class Kind { kLexeme, kSequence, kAny, kRepeat };
  struct Node {
    Kind kind = Kind::kAny;
    std::vector<FormNode> parts = {};
    int64_t least = 0;
    std::optional<int64_t> most = {};
    std::optional<schema::Language> language = {};
    std::string label = {};
    bool has_label = false;
  };
  FormNode add(Node node);
  base::Result<std::vector<bool>> productive(schema::LanguageOracle& oracle) const;
  std::string blame(FormNode start, const std::vector<bool>& productive) const;

  std::vector<Node> nodes_;
  std::map<std::string, FormNode> lexemes_;  // by their form
};

}  // namespace pawl::grammar
