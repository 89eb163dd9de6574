// SPDX-License-Identifier: Apache-2.0
// The text of a Jinja template, apart from its code: what stands between tags, and the string
// literals inside them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::text {

struct TemplatePart {
  enum class Kind { kCode, kText };
  Kind kind;
  std::string_view text;        // of the source, or of static storage
  bool joins_previous = false;  // kText: an expression's value comes right before it
  bool joins_next = false;      // kText: ... right behind it
};

// All of the source in order. A literal's quotes are code. Comments are code. The tags
// `generation` and `endgeneration` are replaced by those of a condition that holds. Linear in the
// source; of one that is broken the rest is code: the compiler says what is wrong.
std::vector<TemplatePart> split_template(std::string_view source);

}  // namespace pawl::text
