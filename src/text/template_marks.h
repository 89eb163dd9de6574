// SPDX-License-Identifier: Apache-2.0
// How control tokens that a chat template wrote are told from the same text in a message.
//
// Before a template is compiled, every control token in its own text and string literals is
// replaced by a mark: noncharacters (U+FDD0 to U+FDEF, The Unicode Standard §23.7: for internal
// use, never for interchange) around the token's id. What callers give, messages and tools and all,
// is protected first: these few characters are written as escapes there, everything else stays as
// it is. In what is rendered, marks become control tokens and nothing else does. So whatever a
// template does with a message, cut, replace, join, change case, no text of a message turns into a
// control token: there is no way to write a mark but to take it from the template. And as messages
// stay readable, tests and filters of the template see what they would see elsewhere.
//
// Some templates put a token together: '<|' + message['role'] + '|>'. Where a literal ends or
// begins so, next to an expression, its part is marked too; the three are a control token if the
// word in the middle is one of a fixed list of roles.
//
// One difference to a renderer without marks: a comparison of a message with a control token's text
// never holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/prompt_pieces.h"
#include "text/special_tokens.h"
#include "text/vocab.h"

namespace pawl::text {

// Lifetime: `vocab` outlives the marks. Threads: immutable; any number of readers.
class TemplateMarks {
 public:
  explicit TemplateMarks(const Vocab& vocab);

  // A template's source with marks; lines stay lines. The tags `generation` and `endgeneration`,
  // which only trainers need, become a condition that holds.
  std::string mark_source(std::string_view source) const;

  // The mark of a control token; the protected text of another; empty for kNoToken.
  std::string mark_token(TokenId id) const;

  // A caller's text without the characters of marks.
  static std::string protect(std::string_view text);

  // Text that a template is given to say where a message ends.
  static std::string_view end_of_message();

  struct Rendered {
    PromptPieces pieces;
    bool has_end_of_message = false;  // pieces stop there, without blanks if the template trims
  };
  // Takes marks and escapes out of what was rendered.
  Rendered read(std::string_view rendered) const;

  // The same for a message about it: control tokens as text.
  std::string read_as_text(std::string_view rendered) const;

 private:
  // "<|" and "|>" of <|user|>.
  struct Frame {
    std::string_view before, after;
  };
  class SourceWriter;

  void append_marked(std::string_view text, bool may_open, bool may_close, std::string& out) const;
  bool is_marked(TokenId id) const;
  TokenId framed_token(std::string_view before, std::string_view word,
                       std::string_view after) const;

  const Vocab& vocab_;
  SpecialTokens tokens_;       // those that get marks
  std::vector<Frame> frames_;  // longest first
};

}  // namespace pawl::text
