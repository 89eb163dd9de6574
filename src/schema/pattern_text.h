// SPDX-License-Identifier: Apache-2.0
// The text of a regular expression, read from left to right, and what its escapes and classes mean
// in the automata library's syntax. Used by pattern_tree.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::schema {

// An expression that matches this character.
std::string code_point(char32_t c);

// Threads: none.
class PatternText {
 public:
  explicit PatternText(std::u32string text) : text_(std::move(text)) {}

  bool at_end() const { return place_ == text_.size(); }
  // U+0000 behind the end.
  char32_t peek(size_t ahead = 0) const {
    return place_ + ahead < text_.size() ? text_[place_ + ahead] : U'\0';
  }
  bool has(char32_t c) const { return !at_end() && text_[place_] == c; }
  bool take(char32_t c);
  char32_t next() { return text_[place_++]; }  // REQUIRES: !at_end()

  size_t place() const { return place_; }
  void skip(size_t characters) { place_ += characters; }
  void go_back(size_t place) { place_ = place; }

  // The error names the column.
  base::Error wrong(base::ErrorCode code, std::string_view what) const;
  base::Error unsupported(std::string_view what) const {
    return wrong(base::ErrorCode::kUnsupported, what);
  }

  // What is matched by the escape, or by the class in brackets, that stands here. Errors
  // kInvalidArgument for what breaks the syntax, kUnsupported for what no automaton has.
  base::Result<std::string> escape();
  base::Result<std::string> bracket();

 private:
  std::optional<char32_t> hex(size_t digits);
  // What \c, \x, \u and their like stand for, or nothing when the letter is no such escape.
  base::Result<std::optional<char32_t>> character_escape();
  base::Result<std::optional<char32_t>> unicode_escape();
  base::Result<std::string> property();
  // A member of a bracket: one code point in `single`, or a class in the result.
  base::Result<std::string> bracket_member(std::optional<char32_t>& single);

  std::u32string text_;
  size_t place_ = 0;
};

}  // namespace pawl::schema
