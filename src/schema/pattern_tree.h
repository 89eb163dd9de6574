// SPDX-License-Identifier: Apache-2.0
// A regular expression as a tree, before its anchors and what looks around are resolved.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::schema {

struct PatternNode {
  enum class Kind {
    kText,      // an expression that matches characters, in the automata library's syntax
    kBegin,     // ^
    kEnd,       // $
    kSequence,  // of children
    kChoice,    // of children
    kRepeat,    // of the one child, as `text` says: "*", "{2,3}"
    kAhead,     // what follows begins with the one child
    kBehind,    // what stands before ends with the one child
    kBorder,    // of a word
  };
  Kind kind = Kind::kText;
  std::string text = {};
  bool may_be_none = false;  // kRepeat: no time at all is allowed
  bool is_negated = false;   // kAhead, kBehind, kBorder
  std::vector<PatternNode> children = {};
  int column = 0;

  // Something in it says where it stands, and matches no character.
  bool has_anchor() const;
  // The node as one expression. REQUIRES: !has_anchor()
  std::string expression() const;
};

base::Result<PatternNode> parse_pattern(std::string_view pattern);

}  // namespace pawl::schema
