// SPDX-License-Identifier: Apache-2.0
// A regular expression as a tree, before its anchors are resolved.
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
    kText,      // an expression without anchors, in the automata library's syntax
    kBegin,     // ^
    kEnd,       // $
    kSequence,  // of children
    kChoice,    // of children
    kRepeat,    // of the one child, as `text` says: "*", "{2,3}"
  };
  Kind kind = Kind::kText;
  std::string text = {};
  bool may_be_none = false;  // kRepeat: no time at all is allowed
  std::vector<PatternNode> children = {};
  int column = 0;

  bool has_anchor() const;
  // The node as one expression. REQUIRES: !has_anchor()
  std::string expression() const;
};

base::Result<PatternNode> parse_pattern(std::string_view pattern);

}  // namespace pawl::schema
